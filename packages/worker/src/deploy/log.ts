import type { DeploymentLogLine, StepName } from "@berth/core/deploy";
import type { Clock, SystemDeploymentStore } from "@berth/core/ports";
import pLimit from "p-limit";
import type { Logger } from "../ports.ts";
import type { WorkerSettings } from "../settings.ts";
import { pause } from "../wait.ts";
import { isSafeToRedact } from "./secrets.ts";

type Stream = "stdout" | "stderr";

export type LogLines = readonly Omit<DeploymentLogLine, "seq">[];

/** The log of one deployment, written in batches and without secrets. */
export interface DeploymentLog {
  /** Writes a line of our own. Never left out. */
  say(step: StepName | null, text: string, stream?: Stream): void;
  /** Writes a line of a tool or an application: left out once the log is full. */
  line(step: StepName | null, text: string, stream: Stream): void;
  /** Removes secrets from a sentence of our own. */
  redact(text: string): string;
  /** Adds secrets to be removed from later lines. */
  hide(secrets: readonly string[]): void;
  /**
   * Lets `write` store the lines that wait together with something else, so that both take one transaction.
   * @returns What `write` returned. After `false` or an error the lines still wait.
   */
  storedWith(write: (lines: LogLines) => Promise<boolean>): Promise<boolean>;
  /** Resolves when every line is stored. */
  close(): Promise<void>;
}

export interface DeploymentLogOptions {
  readonly deployments: Pick<SystemDeploymentStore, "appendLog">;
  readonly deploymentId: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: Pick<WorkerSettings, "logFlushMs" | "logBatchLines" | "logLinesMax" | "logBytesMax">;
  /** Removes secrets from our own sentences. */
  readonly redactOwn: (line: string) => string;
  readonly secrets: readonly string[];
  /** One redactor for each stream, since it remembers the end of a line that was split. */
  readonly redactor: (secrets: readonly string[]) => (line: string) => string;
}

export function deploymentLog(options: DeploymentLogOptions): DeploymentLog {
  const { deployments, deploymentId, clock, logger, settings } = options;
  const { redactor, secrets } = options;
  const known = new Set(secrets);
  const redact = { own: options.redactOwn, stdout: redactor(secrets), stderr: redactor(secrets) };
  const inTurn = pLimit(1);
  let buffer: LogLines[number][] = [];
  let timer: NodeJS.Timeout | undefined;
  let lines = 0;
  let bytes = 0;
  let isFull = false;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    return inTurn(async () => {
      while (buffer.length > 0) {
        const batch = buffer.slice(0, settings.logBatchLines);
        buffer = buffer.slice(batch.length);
        await append(batch);
      }
    });
  };

  /** If the database is unavailable the lines wait: a deployment does not fail because of its log. */
  const append = async (batch: LogLines) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await deployments.appendLog(deploymentId, batch);
      } catch (error) {
        if (attempt < APPEND_ATTEMPTS) await pause(0.2 * attempt);
        else return logger.warn("Lines of a deployment's log are lost.", { deploymentId, lines: batch.length, error });
      }
    }
  };

  const add = (step: StepName | null, text: string, type: Stream) => {
    buffer.push({ step, type, output: storable(text), hidden: false, timestamp: clock.now() });
    if (buffer.length >= settings.logBatchLines) void flush();
    else flushSoon();
  };

  const flushSoon = () => {
    timer ??= setTimeout(() => void flush(), settings.logFlushMs);
  };

  const say: DeploymentLog["say"] = (step, text, stream = "stdout") => {
    for (const line of text.split("\n")) add(step, redact.own(line), stream);
  };

  return {
    say,
    line(step, text, stream) {
      if (isFull) return;
      lines += 1;
      bytes += text.length;
      if (lines > settings.logLinesMax || bytes > settings.logBytesMax) {
        isFull = true;
        return say(step, `The log is full after ${lines - 1} lines; the rest of the output is left out.`, "stderr");
      }
      add(step, redact[stream](text), stream);
    },
    redact: (text) => text.split("\n").map(redact.own).join("\n"),
    hide(texts) {
      const more = texts.filter((text) => !known.has(text));
      if (more.length === 0) return;
      for (const text of more) known.add(text);
      for (const stream of ["own", "stdout", "stderr"] as const) {
        const [before, then] = [redact[stream], redactor(stream === "own" ? more.filter(isSafeToRedact) : more)];
        redact[stream] = (line) => then(before(line));
      }
    },
    storedWith(write) {
      clearTimeout(timer);
      timer = undefined;
      return inTurn(async () => {
        const lines = buffer;
        buffer = [];
        let isStored = false;
        try {
          isStored = await write(lines);
        } finally {
          if (!isStored) buffer = [...lines, ...buffer];
          if (buffer.length > 0) flushSoon();
        }
        return isStored;
      });
    },
    close: flush,
  };
}

/** PostgreSQL cannot store NUL or unpaired surrogates. */
const storable = (text: string): string => text.slice(0, LINE_LENGTH_MAX).replaceAll("\0", "\uFFFD").toWellFormed();

const APPEND_ATTEMPTS = 5;
const LINE_LENGTH_MAX = 65_536;
