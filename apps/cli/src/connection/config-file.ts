import { join } from "node:path";
import { z } from "zod";
import { readJsonFile, writePrivateFile } from "../private-file.ts";
import type { System } from "../system.ts";

const Context = z.object({ url: z.string(), token: z.string() });
/** URL and token of a server. */
export type Context = z.infer<typeof Context>;

const ConfigFile = z.object({
  current: z.string().nullable().default(null),
  contexts: z.record(z.string(), Context).default({}),
});
export type ConfigFile = z.infer<typeof ConfigFile>;

/** `$XDG_CONFIG_HOME/berth/config.json`, else `~/.config/berth/config.json`. */
export function configPath({ env, homeFolder }: Pick<System, "env" | "homeFolder">): string {
  const base = env.XDG_CONFIG_HOME;
  // The XDG specification says to ignore relative paths.
  return join(base?.startsWith("/") ? base : join(homeFolder, ".config"), "berth", "config.json");
}

export async function readConfig(path: string): Promise<ConfigFile> {
  return (await readJsonFile(path, ConfigFile)) ?? { current: null, contexts: {} };
}

/** Mode 0600, in a folder that is created with 0700, since it contains tokens. */
export const writeConfig = (path: string, config: ConfigFile): Promise<void> =>
  writePrivateFile(path, `${JSON.stringify(config, undefined, 2)}\n`);
