import { ServerValidate } from "@berth/core/server";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import { EXIT, type ExitCode, Failure } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { followJob } from "../follow/job.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List servers.").action(bind(list));
  const check = command
    .command("validate")
    .description("Check whether a server can be used, and show its problems.")
    .argument("<server>", "name or uuid");
  addFlags(check, FLAGS, "On the way:");
  check.action(bind(validate));
}

const FLAGS = flagsFor(ServerValidate);

async function validate(
  session: Session,
  wanted: string,
  options: Readonly<Record<string, unknown>>,
): Promise<ExitCode> {
  const { output } = session;
  const { client } = await session.connect();
  const { uuid, name } = choose(wanted, await client.servers.list.query({}), { thing: "server" });
  const { job_uuid } = await client.servers.validate.mutate({ uuid, ...valuesOf(FLAGS, options) });
  if (job_uuid === undefined) throw new Failure("The server began no validation.");
  const job = await followJob(session, job_uuid);
  if (job === undefined) return EXIT.interrupted;
  const server = await client.servers.get.query({ uuid });
  output.show(server, () => {
    if (job.status === "finished") output.line(output.colors.green(`${printable(name)} can be used.`));
    else output.warn(`${printable(name)} cannot be used.`);
    const said = server.validation_logs ?? job.error ?? "";
    for (const line of said === "" ? [] : said.split("\n")) output.line(printable(line));
  });
  return job.status === "finished" ? EXIT.ok : EXIT.failed;
}

function usableText({ is_usable, is_reachable }: Reach, { colors }: Output): string {
  if (!is_usable) return colors.red("no");
  return is_reachable ? colors.green("yes") : colors.red("does not answer");
}

type Reach = { readonly is_usable: boolean; readonly is_reachable: boolean };

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const servers = await client.servers.list.query({});
  output.show(servers, () =>
    output.table(
      ["NAME", "ADDRESS", "ENGINE", "USABLE", "UUID"],
      servers.map(({ name, ip, engine, uuid, settings }) => [
        cell(name),
        cell(ip),
        engine,
        usableText(settings, output),
        cell(uuid),
      ]),
    ),
  );
}
