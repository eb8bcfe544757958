import { type Deployment, namedLine } from "@berth/core/deploy";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { problemIn } from "../connection/problem.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { followStream, type Handlers } from "../follow/subscription.ts";
import { printable, printableLine } from "../printable.ts";
import type { Session } from "../session.ts";
import { warnOfProblems } from "../status-text.ts";
import { targetApplication } from "../target.ts";
import { serverField } from "./app-servers.ts";

/** Flags of commands that show a resource's output. */
export interface OutputFlags {
  readonly follow?: boolean;
  readonly lines?: number;
  /** Alias of `lines`. */
  readonly tail?: number;
  readonly since?: string;
  readonly timestamps?: boolean;
  readonly previous?: boolean;
}

interface LogOptions extends OutputFlags {
  readonly deployment?: string;
  readonly container?: string;
  readonly server?: string;
  readonly preview?: number;
}

export function define(command: Command, bind: Bind): void {
  command
    .argument("[app]", "name or uuid; default: the application of this folder")
    .argument("[container]", "the same as --container");
  addOutputFlags(command)
    .option("--container <name>", "one of several containers, such as web or replica-2; default: all replicas")
    .option("--server <server>", "of this one of the application's servers (name or uuid); default: the first")
    .option("--preview <number>", "of the preview of this pull request", positive)
    .option("--deployment <uuid>", "the log of this deployment instead of the application's")
    .action(bind(logs));
}

export const addOutputFlags = (command: Command): Command =>
  command
    .option("-f, --follow", "keep printing new lines")
    .option("-n, --lines <count>", "how many of the last lines", positive)
    .addOption(new Option("--tail <count>", "the same as --lines").argParser(positive).conflicts("lines"))
    .option("--since <time>", "only lines from then on: 10m, 2h, 1d, or 2026-01-02T03:04:05Z", moment)
    .option("-t, --timestamps", "each line after the moment it was printed at, where that is known")
    .addOption(new Option("--previous", "what the last run printed, if nothing is running").conflicts(["follow"]));

async function logs(
  session: Session,
  wanted: string | undefined,
  named: string | undefined,
  options: LogOptions,
): Promise<ExitCode> {
  const container = options.container ?? named;
  if (named !== undefined && container !== named) throw usage(`Two containers are named: ${named} and ${container}.`);
  const { deployment, follow = false, ...flags } = options;
  const api = await session.connect();
  if (deployment !== undefined) {
    if (wanted !== undefined || Object.keys(flags).length > 0)
      throw usage("--deployment takes neither an application nor other flags than --follow.");
    return follow ? followDeployment(api, session, deployment) : deploymentLog(api, session, deployment);
  }
  const { uuid, name } = await targetApplication(api, session.system, wanted);
  const source = {
    uuid,
    ...(container === undefined ? {} : { container }),
    ...(await serverField(api, uuid, options.server)),
    ...(options.preview === undefined ? {} : { pull_request_id: options.preview }),
  };
  try {
    return await showOutput(session, api.client.applications, source, options);
  } catch (error) {
    if (problemIn(error)?.code !== "resource.not_running") throw error;
    const { deployments } = await api.client.deployments.listByApplication.query({ uuid, take: 1 });
    throw notRunning(name, deployments[0]);
  }
}

/** @param newest Its newest deployment, whose log says why nothing runs. */
export function notRunning(name: string, newest: Pick<Deployment, "deployment_uuid" | "status"> | undefined): Failure {
  const message = `${printable(name)} is not running.`;
  if (newest === undefined)
    return new Failure(message, { details: ["It was never deployed. See: berth deploy --help"] });
  const { deployment_uuid: uuid, status } = newest;
  if (status === "finished")
    return new Failure(message, { details: [`Start it with: berth start ${printable(name)}`] });
  const what = status === "failed" ? "failed" : status === "cancelled-by-user" ? "was cancelled" : "has not ended";
  const follow = what === "has not ended" ? " -f" : "";
  return new Failure(message, {
    details: [`Its last deployment ${what}. Its log: berth logs --deployment ${uuid}${follow}`],
  });
}

interface LinesQuery {
  readonly uuid: string;
  readonly lines?: number;
  readonly since?: string;
  /** Name of a container, where there are several. */
  readonly container?: string;
  /** One of the servers of an application. */
  readonly server_uuid?: string;
  /** A preview of an application. */
  readonly pull_request_id?: number;
}

interface LastLinesQuery extends LinesQuery {
  readonly show_timestamps?: boolean;
  readonly previous?: boolean;
}

interface Line {
  readonly line: string;
  readonly moment?: string | undefined;
  readonly container?: string | undefined;
}

/** Operations for a resource's output, which have the same types for all kinds. */
interface OutputOperations {
  readonly get: { query(query: { uuid: string }): Promise<{ name: string; status_problem?: string | null }> };
  readonly logs: {
    readonly tail: { query(query: LastLinesQuery): Promise<{ readonly logs: string }> };
    readonly follow: { subscribe(query: LinesQuery, handlers: Handlers<Line>): { unsubscribe(): void } };
  };
}

/** Prints the last lines of a resource's output, or follows it. */
export function showOutput(
  session: Session,
  operations: OutputOperations,
  source: Pick<LinesQuery, "uuid" | "container" | "server_uuid" | "pull_request_id">,
  flags: OutputFlags,
): Promise<ExitCode> {
  const lines = flags.lines ?? flags.tail;
  const query = {
    ...source,
    ...(lines === undefined ? {} : { lines }),
    ...(flags.since === undefined ? {} : { since: flags.since }),
  };
  return flags.follow ? followLines(operations, session, query, flags) : lastLines(operations, session, query, flags);
}

async function lastLines(
  { get, logs: { tail } }: OutputOperations,
  { output }: Session,
  query: LinesQuery,
  { timestamps = false, previous = false }: OutputFlags,
): Promise<ExitCode> {
  const wanted = { ...query, ...(timestamps ? { show_timestamps: true } : {}) };
  const answer = await tail.query(wanted).then(
    (running) => {
      if (previous) output.warn("It is running: these are the lines of its release. Replaced releases keep none.");
      return running;
    },
    async (error: unknown) => {
      if (problemIn(error)?.code !== "resource.not_running") throw error;
      const ended = await tail.query({ ...wanted, previous: true }).catch(() => {
        throw error;
      });
      if (!previous) output.warn("Nothing runs. This is what the last run printed.");
      return ended;
    },
  );
  if (answer.logs === "") {
    const { name, status_problem } = await get.query({ uuid: query.uuid });
    if (status_problem) warnOfProblems(output, [[name, status_problem]]);
    else output.warn("No lines to show.");
  }
  output.show(answer, () => {
    if (answer.logs === "") return;
    for (const line of answer.logs.split("\n")) output.line(printableLine(line, output.colors.isColorSupported));
  });
  return EXIT.ok;
}

async function followLines(
  { logs: { follow } }: OutputOperations,
  { output, system }: Session,
  query: LinesQuery,
  { timestamps = false }: OutputFlags,
): Promise<ExitCode> {
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  const { colors } = output;
  try {
    await followStream<Line>({
      subscribe: (handlers) => follow.subscribe(query, handlers),
      onEvent: (event) => {
        if (output.isJson) return output.json(event);
        const prefix = timestamps && event.moment !== undefined ? `${event.moment} ` : "";
        output.line(printableLine(prefix + namedLine(event), colors.isColorSupported));
      },
      onTrouble: (sentence) => sentence !== undefined && output.warn(sentence),
      signal: interruption.signal,
    });
  } finally {
    release();
  }
  return interruption.signal.aborted ? EXIT.interrupted : EXIT.ok;
}

const PAGE_LINES = 1000;

async function deploymentLog({ client }: Api, { output }: Session, uuid: string): Promise<ExitCode> {
  for (let after = 0; ; ) {
    const page = await client.deployments.logs.query({ uuid, after, take: PAGE_LINES });
    // One JSON value per page.
    output.json(page);
    if (!output.isJson)
      for (const line of page.lines) output.line(printableLine(line.output, output.colors.isColorSupported));
    if (page.next === after) return EXIT.ok;
    after = page.next;
  }
}

const UNIT_SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a time or a time span before now. @returns RFC 3339 in UTC */
function moment(text: string): string {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS];
  const at = unit === undefined ? Date.parse(text) : Date.now() - seconds * 1000;
  if (!Number.isNaN(at)) return new Date(at).toISOString();
  throw new InvalidArgumentError("Write 30s, 10m, 2h or 1d, or a moment such as 2026-01-02T03:04:05Z.");
}

function positive(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It takes a whole number from 1 to 99999.");
}
