import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { WorkIO } from "@berth/core/ports";
import { BrokenOff, GrpcError } from "../buildkit/grpc.ts";
import type { EnginePlace } from "../buildkit/upgrade.ts";

export interface Attempts {
  /** One attempt, over a new connection. */
  readonly build: () => Promise<void>;
  /** Names of the steps that were done by now. */
  readonly done: ReadonlySet<string>;
  /** Limit of the pause between two attempts. Default: 500. */
  readonly pauseMsMax?: number;
}

/**
 * Builds again when only the connection was lost: BuildKit ends the build then, but keeps the steps that were done.
 * @throws DomainError `engine.unreachable` after many losses without a step in between, or when the engine does not
 * answer at all
 */
export async function throughLosses(
  place: EnginePlace,
  io: WorkIO,
  { build, done, pauseMsMax = PAUSE_MS_MAX }: Attempts,
): Promise<void> {
  let doneBefore = 0;
  let losses = 0;
  for (;;) {
    try {
      return await build();
    } catch (cause) {
      if (io.signal.aborted || (isDomainError(cause) && !isDomainError(cause, "engine.unreachable"))) throw cause;
      await requireConnection(place);
      if (!isLoss(cause)) throw cause;
      losses = done.size > doneBefore ? 1 : losses + 1;
      doneBefore = done.size;
      if (losses === ATTEMPTS_MAX) throw lost(place, cause);
      if (losses === 1)
        io.onLine("The connection to the engine was lost. Continues the build over another one.", "stderr");
      await delay(Math.min(PAUSE_MS * losses, pauseMsMax), undefined, { signal: io.signal });
    }
  }
}

async function requireConnection({ host, socketPath }: EnginePlace): Promise<void> {
  const socket = await host.connectSocket(socketPath, AbortSignal.timeout(CONNECT_SECONDS_MAX * 1000));
  socket.destroy();
}

const lost = ({ host }: EnginePlace, cause: unknown): DomainError => {
  const message = `The connection to the engine of server ${host.name} was lost during the build. Deploy again.`;
  return new DomainError("engine.unreachable", message, { cause });
};

const isLoss = (cause: unknown): boolean =>
  cause instanceof BrokenOff ||
  isDomainError(cause) ||
  (cause instanceof GrpcError && LOST_CONNECTION.test(cause.message));

/** In BuildKit's words of its way back to us; what a registry or a build says of its connections reads otherwise. */
const LOST_CONNECTION =
  /error reading from server: EOF|no active session for|closing transport|transport is closing|only one connection allowed/;
const CONNECT_SECONDS_MAX = 10;
/** An attempt needs two connections for as long as a step takes, while each loss is noticed at once. */
const ATTEMPTS_MAX = 60;
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 500;
