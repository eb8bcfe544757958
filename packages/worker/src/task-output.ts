import type { RunLease, SystemScheduledTaskStore } from "@berth/core/ports";
import pLimit from "p-limit";
import type { Logger } from "./ports.ts";
import type { WorkerSettings } from "./settings.ts";

/** Output of an execution, stored without secrets while it runs. */
export interface TaskOutput {
  readonly isEmpty: boolean;
  line(text: string): void;
  /** Resolves when every line is stored. */
  close(): Promise<void>;
}

export interface TaskOutputOptions {
  readonly tasks: Pick<SystemScheduledTaskStore, "appendOutput">;
  readonly lease: RunLease;
  readonly redact: (line: string) => string;
  readonly logger: Logger;
  readonly settings: Pick<WorkerSettings, "taskFlushMs" | "taskOutputBytesMax">;
}

/** Stores the beginning of the output. Text is only ever appended, so readers can continue where they stopped. */
export function taskOutput({ tasks, lease, redact, logger, settings }: TaskOutputOptions): TaskOutput {
  const inTurn = pLimit(1);
  let isEmpty = true;
  let buffer = "";
  let bytes = 0;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    return inTurn(async () => {
      const text = buffer;
      buffer = "";
      if (text === "") return;
      try {
        await tasks.appendOutput(lease, text);
      } catch (error) {
        // A task does not fail because of its output.
        logger.warn("Output of a scheduled task is lost.", { execution: lease.uuid, error });
      }
    });
  };

  const add = (line: string) => {
    buffer += isEmpty ? line : `\n${line}`;
    isEmpty = false;
    timer ??= setTimeout(() => void flush(), settings.taskFlushMs);
  };

  return {
    get isEmpty() {
      return isEmpty;
    },
    line(text) {
      if (isFull) return;
      const line = redact(text);
      bytes += Buffer.byteLength(line) + 1;
      isFull = bytes > settings.taskOutputBytesMax;
      add(
        isFull ? `The rest of the output is left out: it is longer than ${settings.taskOutputBytesMax} bytes.` : line,
      );
    },
    close: flush,
  };
}
