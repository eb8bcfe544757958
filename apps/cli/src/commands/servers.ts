import { ServerValidate } from "@berth/core/server";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { ExitCode } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { cell, type Output } from "../output.ts";
import type { Session } from "../session.ts";
import { defineAdd } from "./server-add.ts";
import { validateServer } from "./server-validate.ts";

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List servers.").action(bind(list));
  defineAdd(command, bind);
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
  const { client } = await session.connect();
  const server = choose(wanted, await client.servers.list.query({}), { thing: "server" });
  return validateServer(session, server, valuesOf(FLAGS, options));
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
