import { type Command, InvalidArgumentError } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, usage } from "../failure.ts";
import { followDeployment } from "../follow/deployment.ts";
import { followStream, type Handlers } from "../follow/subscription.ts";
import { printableLine } from "../printable.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";

interface Options {
  readonly follow?: boolean;
  readonly lines?: number;
  readonly deployment?: string;
}

export function define(command: Command, bind: Bind): void {
  command
    .argument("[app]", "name or uuid; default: the application of this folder")
    .option("-f, --follow", "keep printing new lines")
    .option("-n, --lines <count>", "how many of the last lines", positive)
    .option("--deployment <uuid>", "the log of this deployment instead of the application's")
    .action(bind(logs));
}

async function logs(session: Session, wanted: string | undefined, options: Options): Promise<ExitCode> {
  const { deployment, follow = false, lines } = options;
  if (deployment !== undefined) {
    if (wanted !== undefined || lines !== undefined)
      throw usage("--deployment takes neither an application nor --lines.");
    const api = await session.connect();
    return follow ? followDeployment(api, session, deployment) : deploymentLog(api, session, deployment);
  }
  const api = await session.connect();
  const { uuid } = await targetApplication(api, session.system, wanted);
  return showOutput(session, api.client.applications.logs, { uuid, ...(lines === undefined ? {} : { lines }) }, follow);
}

interface LinesQuery {
  readonly uuid: string;
  readonly lines?: number;
  /** Container of a service. */
  readonly container?: string;
}

/** The operations on what a resource prints: those of all kinds are one definition. */
interface OutputOperations {
  readonly tail: { query(query: LinesQuery): Promise<{ readonly logs: string }> };
  readonly follow: {
    subscribe(query: LinesQuery, handlers: Handlers<{ line: string }>): { unsubscribe(): void };
  };
}

/** Prints the last lines that a resource printed, or continues with what comes. */
export const showOutput = (
  session: Session,
  operations: OutputOperations,
  query: LinesQuery,
  follow: boolean,
): Promise<ExitCode> => (follow ? followLines : lastLines)(operations, session, query);

async function lastLines({ tail }: OutputOperations, { output }: Session, query: LinesQuery): Promise<ExitCode> {
  const answer = await tail.query(query);
  output.show(answer, () => {
    if (answer.logs === "") return;
    for (const line of answer.logs.split("\n")) output.line(printableLine(line, output.colors.isColorSupported));
  });
  return EXIT.ok;
}

async function followLines(
  { follow }: OutputOperations,
  { output, system }: Session,
  query: LinesQuery,
): Promise<ExitCode> {
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  const { colors } = output;
  try {
    await followStream<{ line: string }>({
      subscribe: (handlers) => follow.subscribe(query, handlers),
      onEvent: (event) => {
        if (output.isJson) output.json(event);
        else output.line(printableLine(event.line, colors.isColorSupported));
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
    // Each page is an answer of its own.
    output.json(page);
    if (!output.isJson)
      for (const line of page.lines) output.line(printableLine(line.output, output.colors.isColorSupported));
    if (page.next === after) return EXIT.ok;
    after = page.next;
  }
}

export function positive(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It takes a whole number from 1 to 99999.");
}
