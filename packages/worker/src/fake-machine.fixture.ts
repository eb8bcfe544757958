import type { ServerInspection, ServerMachine } from "@berth/core/ports";

const GIB = 1024 ** 3;

export const INSPECTION: ServerInspection = {
  machineProblem: null,
  engineProblem: null,
  osType: "linux",
  engineId: null,
  swarm: null,
  disk: { totalBytes: 100 * GIB, freeBytes: 50 * GIB },
  facts: {
    engine_version: "26.1.5",
    api_version: "1.45",
    operating_system: "Debian GNU/Linux 13",
    kernel_version: "6.18",
    architecture: "amd64",
    cpus: 2,
    memory_bytes: 4 * GIB,
    disk_total_bytes: 100 * GIB,
    disk_free_bytes: 50 * GIB,
  },
};

/** A machine without problems, unless given some. */
export function fakeMachine(
  options: {
    readonly inspection?: Partial<ServerInspection>;
    /** Default: at once, without progress. */
    readonly inspect?: ServerMachine["inspect"];
    /** Returns a string as the port does, or anything else for a machine that answers. */
    readonly ping?: () => Promise<unknown>;
    readonly disk?: ServerMachine["disk"];
    readonly install?: ServerMachine["installEngine"];
  } = {},
): ServerMachine {
  return {
    inspect: options.inspect ?? (async () => ({ ...INSPECTION, ...options.inspection })),
    async ping() {
      const answer = await options.ping?.();
      return typeof answer === "string" ? answer : null;
    },
    disk: options.disk ?? (async () => INSPECTION.disk ?? undefined),
    installEngine: options.install ?? (async () => {}),
    terminal: () => Promise.reject(new Error("It opens no terminals.")),
  };
}
