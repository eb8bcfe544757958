import { isDomainError } from "@berth/core";
import { deployedKind, mountsOf, type Operation, type ReleaseState } from "@berth/core/deploy";
import type { ResourceRecord, SystemStores } from "@berth/core/ports";
import { drainRelease } from "./drain.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WorkerSettings } from "./settings.ts";
import { graceSecondsOf } from "./stop-grace.ts";

interface ScaleDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  /** Called after a failure, so that the next attempt waits. */
  onStart(deploymentUuid: string): void;
}

/**
 * Gives a live release the number of containers that its resource asks for. Containers that are removed get no new
 * requests and finish those in flight first.
 */
export async function scaleLive(
  { stores, settings, logger, onStart }: ScaleDeps,
  { server, engine, proxy, router }: ServerAdapters,
  { release, deploymentId, resourceId, replicas }: Extract<Operation, { type: "scale" }>,
  signal: AbortSignal,
): Promise<void> {
  const record = await stores.releases.find(deploymentId);
  if (record?.role !== "live") return;
  const { subject } = (await stores.resources.routing(record)) ?? {};
  if (subject === undefined || subject.record.removing_at !== null) return;
  if (subject.record.server_id !== server.id) return;
  // Changed since the plan was made: the next plan has the new number.
  if (subject.record.desired_state !== "running" || deployedKind(subject).replicas(subject) !== replicas) return;
  const before = await engine.inspect(release);
  if (before === undefined) return;
  const from = before.containers?.length ?? 1;
  if (from > replicas) {
    await router.route({ resourceId, pullRequestId: 0, kind: subject.kind });
    const draining = { release, pullRequestId: 0, upstream: null, state: before };
    await drainRelease({ proxy, router }, draining, settings.drainSecondsMax, signal);
    if (signal.aborted) return;
  }
  let scaled: ReleaseState | undefined;
  const { kind, name, uuid, team_id } = subject.record;
  const team = stores.forTeam(team_id);
  const { items: storages } = await team.storages.list(resourceId);
  const files = mountsOf(uuid, storages, 0).filter((mount) => mount.type === "file");
  try {
    scaled = await engine.containers?.scale(release, replicas, { graceSeconds: graceSecondsOf(subject), files });
  } catch (error) {
    onStart(release.deploymentUuid);
    if (!signal.aborted) await recordFailure(stores, subject.record, { from, to: replicas, error });
    throw error;
  }
  // Containers that had not started were made anew: nothing was scaled, and autoscaling waits for nothing.
  if (scaled === undefined || from === replicas) return;
  const payload = { resource_kind: kind, resource_name: name, from, to: replicas };
  await team.events.append({ type: "resource.scaled", resource_uuid: uuid, payload });
  logger.info("Scaled a release.", { ...release, from, to: replicas });
}

interface FailedScale {
  readonly from: number;
  readonly to: number;
  readonly error: unknown;
}

/** Each failure is followed by another attempt, so only the first in a row is an event. */
async function recordFailure(
  stores: SystemStores,
  { id, server_id, team_id, uuid, kind, name }: ResourceRecord,
  { from, to, error }: FailedScale,
): Promise<void> {
  const problem = isDomainError(error) ? error.message : "An internal error occurred; Berth's own log has the details.";
  await stores.transaction(async (tx) => {
    if (!(await tx.resources.setScaleProblem({ resource_id: id, server_id }, problem))) return;
    const payload = { resource_kind: kind, resource_name: name, from, to, error: problem };
    await tx.forTeam(team_id).events.append({ type: "resource.scale_failed", resource_uuid: uuid, payload });
  });
}
