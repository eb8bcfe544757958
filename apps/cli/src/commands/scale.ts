import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addWaitFlag } from "../follow/job.ts";
import { pollUntilEnded } from "../follow/poll.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

export function define(command: Command, bind: Bind): void {
  command
    .usage("[options] [app] <replicas>")
    .argument("<app>", "name or uuid; default: the application of this folder")
    .argument("[replicas]", "number of containers, from 1 to 100");
  addWaitFlag(command).action(
    bind(async (session: Session, first: string, second: string | undefined, { wait }: { readonly wait: boolean }) => {
      const { output } = session;
      // With one argument, that is the number.
      const [wanted, replicas] = second === undefined ? [undefined, numberOf(first)] : [first, numberOf(second)];
      const api = await session.connect();
      const { uuid, name } = await targetApplication(api, session.system, wanted);
      const answer = await api.client.applications.update.mutate({ uuid, replicas });
      output.show(answer, () => output.line(`${printable(name)}: asked for ${containers(replicas)}.`));
      return wait ? untilScaled(api, session, { uuid, name, replicas }) : EXIT.ok;
    }),
  );
}

function numberOf(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw usage(`Expected a number of containers, got ${printable(text)}. Example: berth scale shop 3`);
}

const containers = (count: number): string => (count === 1 ? "1 container" : `${count} containers`);

interface Wanted {
  readonly uuid: string;
  readonly name: string;
  readonly replicas: number;
}

/** Images may have to be pulled, and removed containers finish their requests. */
const SCALE_PATIENCE_MS = 5 * 60_000;

async function untilScaled(api: Api, session: Session, { uuid, name, replicas }: Wanted): Promise<ExitCode> {
  const { output } = session;
  const { status } = await api.client.applications.get.query({ uuid });
  if (!status.startsWith("running")) {
    output.line(
      `${printable(name)} is not running. It has them from its next start on: berth start ${printable(name)}`,
    );
    return EXIT.ok;
  }
  const deadline = Date.now() + SCALE_PATIENCE_MS;
  let shown = "";
  const isScaled = await pollUntilEnded(session, async () => {
    const now = await api.client.applications.containers.list.query({ uuid });
    const running = now.filter(({ state }) => state === "running").length;
    const line = `${running} of ${containers(replicas)} running`;
    if (line !== shown) output.line(line);
    shown = line;
    if (running === replicas && now.length === replicas) return true;
    return Date.now() > deadline ? false : undefined;
  });
  if (isScaled === undefined) return EXIT.interrupted;
  if (!isScaled) {
    throw new Failure(
      `${printable(name)} does not have ${containers(replicas)} after 5 minutes. Berth continues to try. See: berth logs ${printable(name)}`,
    );
  }
  return EXIT.ok;
}
