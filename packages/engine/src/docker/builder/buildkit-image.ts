import { readFile } from "node:fs/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { WorkIO } from "@berth/core/ports";
import { BrokenOff, GrpcError } from "../buildkit/grpc.ts";
import { hostGateway, solve } from "../buildkit/solve.ts";
import type { EnginePlace } from "../buildkit/upgrade.ts";
import type { BuildPlace } from "./build-place.ts";
import { type BuildTarget, frontendOptions, needsHostGateway } from "./build-target.ts";
import { buildFailure } from "./failure.ts";
import { guardedTarget, sourceGuard } from "./guarded-build.ts";
import { buildTrace } from "./progress.ts";

/** See `buildImage`. */
export async function buildkitImage(wanted: BuildTarget, io: WorkIO, place: BuildPlace): Promise<void> {
  const trace = buildTrace((line, stream) => io.onLine(line, stream), place.steps);
  try {
    const target = place.guard === undefined ? wanted : await guardedTarget(wanted);
    const guard = place.guard && sourceGuard(place.guard, io);
    const gateway = needsHostGateway(target) ? await hostGateway(place, io.signal) : undefined;
    const { folders, ...options } = frontendOptions(target, gateway);
    const offer = { folders, secrets: await secretsOf(target), logins: place.logins };
    await solve(place, { ...options, image: target.image, offer, guard }, (status) => trace.write(status), io.signal);
  } catch (cause) {
    if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The build was cancelled.", { cause });
    if (isDomainError(cause)) throw cause;
    await requireConnection(place, cause);
    throw buildFailure(trace.failedStep(), cause);
  } finally {
    trace.end();
  }
}

async function secretsOf({ secrets, secretFiles }: BuildTarget): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map(Object.entries(secrets).map(([id, value]) => [id, Buffer.from(value)]));
  for (const [id, file] of Object.entries(secretFiles)) found.set(id, await readFile(file));
  return found;
}

/** A lost connection is a trouble of the server's, not of what is built. */
async function requireConnection({ host, socketPath }: EnginePlace, cause: unknown): Promise<void> {
  const socket = await host.connectSocket(socketPath, AbortSignal.timeout(CONNECT_SECONDS_MAX * 1000));
  socket.destroy();
  if (!(cause instanceof BrokenOff || (cause instanceof GrpcError && LOST_CONNECTION.test(cause.message)))) return;
  const message = `The connection to the engine of server ${host.name} was lost during the build. Deploy again.`;
  throw new DomainError("engine.unreachable", message, { cause });
}

/** In BuildKit's words of its way back to us; what a registry or a build says of its connections reads otherwise. */
const LOST_CONNECTION =
  /error reading from server: EOF|no active session for|closing transport|transport is closing|only one connection allowed/;
const CONNECT_SECONDS_MAX = 10;
