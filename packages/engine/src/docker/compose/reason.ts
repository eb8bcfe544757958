import { takenPort } from "../taken-port.ts";

/** The reason of a failure of the compose tool: its last output lines that do not report progress. */
export function composeReason(words: readonly string[]): string {
  const said = words.map(plain).filter((line) => line !== "" && !PROGRESS.test(line));
  const last = said.findLast((line) => FAILURE.test(line)) ?? said.at(-1) ?? "the compose tool gave no reason";
  const reason = last.replace(/^(Error response from daemon|validating \S+): /, "").slice(0, REASON_LENGTH_MAX);
  const port = takenPort(reason);
  if (port !== undefined) return `port ${port} of the server is taken. Choose another one in the compose file.`;
  const [, volume] = /external volume "([^"]*)" not found/.exec(reason) ?? [];
  if (volume !== undefined) return `the server has no volume ${volume}. Create it, or remove external from the file.`;
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}

/** Whether the tool lost its connection to the engine. Then the containers are not the reason. */
export const isLostConnection = (reason: string): boolean =>
  /(?:^|: )(?:error during connect: |Cannot connect to the Docker daemon )/.test(reason);

/** A line of progress such as `Container db Started`, for the log; `undefined` for other lines. */
export function shownProgress(line: string): string | undefined {
  const text = plain(line);
  return PROGRESS.test(text) ? text.slice(0, REASON_LENGTH_MAX) : undefined;
}

/** Replaces the container names, which contain the deployment, by the names in the compose file. */
const plain = (line: string): string =>
  line
    .replace(/\bberth-[a-z0-9]{20,}-([\w.-]+-\d+)\b/g, "$1")
    .replace(/\b([A-Za-z0-9][\w.-]*?)-[a-z0-9-]{8,}-[a-z0-9-]{8,}\b/g, "$1")
    .replace(/\s+/g, " ")
    .trim();

const PROGRESS = /^(Container|Network|Volume) \S+ (Creat|Start|Recreat|Wait|Runn|Healthy|Exited|Stopp|Built)/;
const FAILURE = /error|fail|unhealthy|exited|not found|invalid|undefined/i;
const REASON_LENGTH_MAX = 400;
