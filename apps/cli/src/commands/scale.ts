import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addWaitFlag } from "../follow/job.ts";
import { pollUntilEnded } from "../follow/poll.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface ScaleOptions {
  readonly cpu?: string;
  readonly memory?: string;
  readonly requests?: string;
  readonly wait: boolean;
}

export function define(command: Command, bind: Bind): void {
  command
    .usage("[options] [app] <replicas>")
    .argument(
      "<replicas...>",
      "the application, unless it is this folder's; then the number of containers, from 1 to 100, or bounds such as 2..10 between which Berth chooses",
    )
    .option("--cpu <percent>", "with bounds: what a container should use, in percent of one processor; 0: no matter")
    .option("--memory <megabytes>", "with bounds: what a container should use; 0: no matter")
    .option("--requests <count>", "with bounds: what a container should answer in a second; 0: no matter");
  addWaitFlag(command).action(
    bind(async (session: Session, [first = "", second, ...more]: readonly string[], options: ScaleOptions) => {
      const { output } = session;
      if (more.length > 0) throw usage("Too many arguments. Example: berth scale shop 3");
      // With one argument, that is the number.
      const [wanted, text] = second === undefined ? [undefined, first] : [first, second];
      const { replicas, settings } = read(text, options);
      const api = await session.connect();
      const { uuid, name } = await targetApplication(api, session.system, wanted);
      const answer = await api.client.applications.update.mutate({ uuid, ...settings });
      output.show(answer, () =>
        output.line(`${printable(name)}: asked for ${text} ${text === "1" ? "container" : "containers"}.`),
      );
      if (replicas === undefined) {
        output.line(
          "Berth looks once a minute. See what it changes, and why, with: berth --json events list --type resource.autoscaled",
        );
        return EXIT.ok;
      }
      return options.wait ? untilScaled(api, session, { uuid, name, replicas }) : EXIT.ok;
    }),
  );
}

/** `replicas` is left out where Berth chooses the number. */
function read(text: string, { cpu, memory, requests }: ScaleOptions) {
  const [, min, max] = /^(\d+)\.\.(\d+)$/.exec(text) ?? [];
  if (min !== undefined && max !== undefined) {
    if (Number(min) > Number(max)) {
      throw usage(
        `Bounds are the fewest and the most containers, got ${text}. Example: berth scale shop ${max}..${min}`,
      );
    }
    const settings = {
      autoscaling_enabled: true,
      autoscaling_replicas_min: Number(min),
      autoscaling_replicas_max: Number(max),
      ...(cpu === undefined ? {} : { autoscaling_cpu_percent: targetOf("--cpu", cpu) }),
      ...(memory === undefined ? {} : { autoscaling_memory_mb: targetOf("--memory", memory) }),
      ...(requests === undefined ? {} : { autoscaling_requests_per_second: targetOf("--requests", requests) }),
    };
    return { replicas: undefined, settings };
  }
  const [, number] = /=([0-9.]+)$/.exec(text) ?? [];
  if (number !== undefined)
    throw usage(`An application has no processes of several types to scale. Write: berth scale APP ${number}`);
  if (!/^\d+$/.test(text)) {
    throw usage(
      `Expected a number of containers or bounds, got ${printable(text)}. Examples: berth scale shop 3, berth scale shop 2..10`,
    );
  }
  if (cpu !== undefined || memory !== undefined || requests !== undefined) {
    throw usage(
      "--cpu, --memory and --requests are for bounds, between which Berth chooses. Example: berth scale shop 2..10 --cpu 60",
    );
  }
  return { replicas: Number(text), settings: { replicas: Number(text), autoscaling_enabled: false } };
}

function targetOf(flag: string, text: string): number | null {
  if (!/^\d+$/.test(text)) throw usage(`${flag} expects a whole number, got ${printable(text)}.`);
  return Number(text) === 0 ? null : Number(text);
}

const containers = (count: number): string => (count === 1 ? "1 container" : `${count} containers`);

interface WantedScale {
  readonly uuid: string;
  readonly name: string;
  readonly replicas: number;
}

/** Images may have to be pulled, and removed containers finish their requests. */
const SCALE_PATIENCE_MS = 5 * 60_000;

async function untilScaled(api: Api, session: Session, { uuid, name, replicas }: WantedScale): Promise<ExitCode> {
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
  let warned: string | null = null;
  const isScaled = await pollUntilEnded(session, async () => {
    const [now, { scale_problem }] = await Promise.all([
      api.client.applications.containers.list.query({ uuid }),
      api.client.applications.get.query({ uuid }),
    ]);
    const running = now.filter(({ state }) => state === "running").length;
    const line = `${running} of ${containers(replicas)} running`;
    if (line !== shown) output.line(line);
    shown = line;
    if (running === replicas && now.length === replicas) return true;
    // Berth tries again by itself, so a failed attempt is not the end.
    if (scale_problem !== null && scale_problem !== warned) output.warn(printable(scale_problem));
    warned = scale_problem;
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
