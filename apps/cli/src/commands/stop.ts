import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

export function define(command: Command, bind: Bind): void {
  command.argument("[app]", "name or uuid; default: the application of this folder").action(bind(stop));
}

async function stop(session: Session, wanted: string | undefined): Promise<void> {
  const { output, system } = session;
  const api = await session.connect();
  const { uuid, name } = await targetApplication(api, system, wanted);
  const answer = await api.client.applications.stop.mutate({ uuid });
  output.show(answer, () => output.line(`${printable(name)}: ${printable(answer.message)}`));
}
