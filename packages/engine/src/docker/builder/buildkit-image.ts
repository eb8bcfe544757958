import { readFile } from "node:fs/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { WorkIO } from "@berth/core/ports";
import type { Status } from "../buildkit/messages.ts";
import { hostGateway, solve } from "../buildkit/solve.ts";
import type { BuildPlace } from "./build-place.ts";
import { type BuildTarget, frontendOptions, needsHostGateway } from "./build-target.ts";
import { throughLosses } from "./connection-losses.ts";
import { buildFailure } from "./failure.ts";
import { guardedTarget, sourceGuard } from "./guarded-build.ts";
import { buildTrace } from "./progress.ts";

/** See `buildImage`. */
export async function buildkitImage(wanted: BuildTarget, io: WorkIO, place: BuildPlace): Promise<void> {
  const newTrace = () => buildTrace((line, stream) => io.onLine(line, stream), place.steps);
  let trace = newTrace();
  try {
    const target = place.guard === undefined ? wanted : await guardedTarget(wanted);
    const guard = place.guard && sourceGuard(place.guard, io);
    const gateway = needsHostGateway(target) ? await hostGateway(place, io.signal) : undefined;
    const { folders, ...options } = frontendOptions(target, gateway);
    const offer = { folders, secrets: await secretsOf(target), logins: place.logins };
    const wantedSolve = { ...options, image: target.image, offer, guard, group: place.group };
    const done = new Set<string>();
    const build = async () => {
      trace.end();
      // A step that failed with the connection is not the reason of a later failure.
      trace = newTrace();
      const onStatus = (status: Status) => {
        // By name: each attempt has a session of its own, and what depends on its files gets another digest.
        for (const { name, completed, error } of status.vertexes) if (completed && !error) done.add(name);
        trace.write(status);
      };
      await solve(place, wantedSolve, onStatus, io.signal);
    };
    await throughLosses(place, io, { build, done });
  } catch (cause) {
    if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The build was cancelled.", { cause });
    if (isDomainError(cause)) throw cause;
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
