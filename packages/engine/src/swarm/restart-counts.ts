import type { CountEnded } from "./state.ts";

interface Counted {
  readonly run: number;
  readonly count: number;
  /** Start of the last container that was counted. */
  readonly lastMs: number;
}

/** Remembers how often the containers of a release have ended, since a swarm keeps only the last few of their containers. */
export class RestartCounts {
  readonly #byDeployment = new Map<string, Map<string, Counted>>();

  of(deploymentUuid: string): CountEnded {
    const counts = this.#byDeployment.get(deploymentUuid) ?? new Map<string, Counted>();
    this.#byDeployment.set(deploymentUuid, counts);
    return (title, run, startsMs) => {
      const before = counts.get(title);
      const known = before?.run === run ? before : { run, count: 0, lastMs: 0 };
      const count = known.count + startsMs.filter((startMs) => startMs > known.lastMs).length;
      counts.set(title, { run, count, lastMs: Math.max(known.lastMs, ...startsMs) });
      return count;
    };
  }

  forget(deploymentUuid: string): void {
    this.#byDeployment.delete(deploymentUuid);
  }
}
