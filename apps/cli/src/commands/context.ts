import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { configPath, readConfig, writeConfig } from "../connection/config-file.ts";
import { contextNamed, resolveConnection } from "../connection/resolve.ts";
import { Failure } from "../failure.ts";
import { cell } from "../output.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List the connections.").action(bind(list));
  command.command("use").description("Choose the connection that commands use.").argument("<name>").action(bind(use));
  command
    .command("rm")
    .description("Forget a connection and its token. The token stays valid: berth tokens revoke ends it.")
    .argument("<name>")
    .action(bind(remove));
}

async function list({ output, system }: Session): Promise<void> {
  const { contexts, current } = await readConfig(configPath(system));
  // Tokens are not shown: terminals may be watched and logs stored.
  const shown = Object.entries(contexts).map(([name, { url }]) => ({ name, url, is_current: name === current }));
  const inUse = await resolveConnection(system, undefined).catch((error: unknown) => {
    if (error instanceof Failure) return undefined;
    throw error;
  });
  output.show(shown, () => {
    const rows = shown.map(({ name, url, is_current }) => [is_current ? "*" : "", cell(name), cell(url)]);
    if (rows.length > 0) output.table(["", "NAME", "URL"], rows);
    if (inUse) output.line(`Commands here talk to ${inUse.url} (from ${inUse.origin}).`);
    else output.line("No connections yet. Make one with: berth login URL");
  });
}

async function use({ output, system }: Session, name: string): Promise<void> {
  const path = configPath(system);
  const config = await readConfig(path);
  const { url } = contextNamed(config.contexts, name);
  await writeConfig(path, { ...config, current: name });
  output.show({ name, url, is_current: true }, () => output.line(`Commands talk to ${url} now.`));
}

async function remove({ output, system }: Session, name: string): Promise<void> {
  const path = configPath(system);
  const config = await readConfig(path);
  const { url } = contextNamed(config.contexts, name);
  const contexts = Object.fromEntries(Object.entries(config.contexts).filter(([other]) => other !== name));
  await writeConfig(path, { current: config.current === name ? null : config.current, contexts });
  output.show({ name, url }, () => output.line(`${name} is forgotten.`));
}
