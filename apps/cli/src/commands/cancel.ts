import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { EXIT, type ExitCode } from "../failure.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.argument("<deployment>", "uuid of the deployment, as `berth deployments` lists it").action(bind(cancel));
}

async function cancel(session: Session, uuid: string): Promise<ExitCode> {
  const { output } = session;
  const { client } = await session.connect();
  const answer = await client.deployments.cancel.mutate({ uuid });
  output.show(answer, () => output.line(answer.message));
  return EXIT.ok;
}
