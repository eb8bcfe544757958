import type { DrainResult, ServerRecord } from "@berth/core/ports";
import type { WorkerDeps } from "./ports.ts";

/** Reports a problem on the server and in the log when it begins, when it changes and when it is over. */
export class LogDrainReport {
  readonly #deps: Pick<WorkerDeps, "stores" | "logger">;
  readonly #server: ServerRecord;
  /** Kind of the reported problem. */
  #known: string | undefined;
  #droppedLines = 0;

  constructor(deps: Pick<WorkerDeps, "stores" | "logger">, server: ServerRecord) {
    this.#deps = deps;
    this.#server = server;
    this.#known = server.log_drain_problem === null ? undefined : "recorded before";
  }

  async failed(kind: string, problem: string): Promise<void> {
    if (kind === this.#known) return;
    this.#known = kind;
    const server = this.#server.name;
    this.#deps.logger.warn("Log lines of a server cannot be delivered. They wait in its logs.", { server, problem });
    await this.#record(problem);
  }

  async dropped(lines: number, problem: string): Promise<void> {
    this.#droppedLines += lines;
    if (this.#known === "refused") return;
    this.#known = "refused";
    this.#deps.logger.warn("Log lines of a server were refused by the log drain and dropped.", {
      server: this.#server.name,
      dropped: this.#droppedLines,
      problem,
    });
    await this.#record(`Lines are refused and dropped. ${problem}`);
  }

  async delivered({ refused, problem = "" }: Extract<DrainResult, { isDelivered: true }>): Promise<void> {
    if (refused > 0) return await this.dropped(refused, problem);
    if (this.#known === undefined) return;
    this.#known = undefined;
    const server = this.#server.name;
    this.#deps.logger.info("Log lines of a server are delivered again.", { server, dropped: this.#droppedLines });
    this.#droppedLines = 0;
    await this.#record(null);
  }

  async #record(problem: string | null): Promise<void> {
    const { id, name } = this.#server;
    try {
      await this.#deps.stores.logDrains.recordProblem(id, problem);
    } catch (error) {
      this.#deps.logger.debug("The problem of a log drain could not be recorded.", { server: name, error });
    }
  }
}
