import { AUTOSCALING_WINDOW_SAMPLES, autoscaled } from "@berth/core/application";
import type { AutoscaledApplication } from "@berth/core/ports";
import type { WorkerDeps } from "./ports.ts";

interface AutoscalerDeps extends Pick<WorkerDeps, "stores" | "clock" | "logger"> {
  /** Interval between samples. */
  readonly sampleSeconds: number;
}

/** Sets the number of containers of those of these resources for which Berth chooses it, by their last samples. */
export async function autoscale(deps: AutoscalerDeps, resourceIds: readonly number[]): Promise<void> {
  for (const application of await deps.stores.resources.autoscaled(resourceIds)) {
    await autoscaleOne(deps, application).catch((error: unknown) =>
      deps.logger.warn("An application could not be scaled.", { application: application.uuid, error }),
    );
  }
}

async function autoscaleOne(
  { stores, clock, logger, sampleSeconds }: AutoscalerDeps,
  { id, team_id, uuid, name, settings }: AutoscaledApplication,
): Promise<void> {
  const now = clock.now();
  const team = stores.forTeam(team_id);
  const [samples, [last]] = await Promise.all([
    team.metrics.list(id, new Date(now.getTime() - AUTOSCALING_WINDOW_SAMPLES * sampleSeconds * 1000)),
    team.events.list({ type: "resource.scaled", resource: uuid, newestFirst: true, take: 1 }),
  ]);
  const { replicas: from } = settings;
  const decided = autoscaled({ settings, samples: samples.items, scaledAt: last?.created_at, now, sampleSeconds });
  if (decided === undefined) return;
  const { replicas, reason } = decided;
  await team.transaction(async (tx) => {
    await tx.applications.update(id, { settings: { replicas } });
    const payload = { resource_kind: "application", resource_name: name, from, to: replicas, reason };
    await tx.events.append({ type: "resource.autoscaled", resource_uuid: uuid, payload });
  });
  logger.info("Changed the number of containers of an application.", { application: uuid, from, to: replicas, reason });
}
