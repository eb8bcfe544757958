import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { ExitCode } from "../failure.ts";
import type { Session } from "../session.ts";
import { attachTo } from "./terminal.ts";

export function define(command: Command, bind: Bind): void {
  command.argument("<server>", "name or uuid").action(bind(ssh));
}

async function ssh(session: Session, wanted: string): Promise<ExitCode> {
  const { client } = await session.connect();
  const { uuid } = choose(wanted, await client.servers.list.query({}), { thing: "server" });
  return await attachTo(session, { kind: "server", uuid });
}
