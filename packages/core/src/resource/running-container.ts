import { z } from "zod";
import { containerTitle } from "../compose/replicas.ts";
import type { ReleaseState } from "../deploy/release.ts";
import type { EngineCapabilities } from "../ports/engine.ts";
import { Timestamp, timestampOrNull } from "../timestamp.ts";

export const RunningContainer = z
  .object({
    name: z
      .string()
      .nullable()
      .describe("By which its logs and a terminal are asked for; null for the only one of a resource."),
    state: z.enum(["created", "starting", "running", "restarting", "exited", "paused", "dead", "removing"]),
    health: z
      .enum(["healthy", "unhealthy", "unknown", "starting"])
      .nullable()
      .describe("By its own check; null without one."),
    restart_count: z.int(),
    exit_code: z.int().nullable().describe("Of the last run that ended."),
    started_at: Timestamp.nullable(),
    port: z
      .int()
      .nullable()
      .describe(
        "Where it gets requests; null if it gets none, or listens on a port that Berth chose for this release.",
      ),
    deployment_uuid: z.string(),
  })
  .meta({ id: "RunningContainer", description: "A container, or a process, of a resource's live release." });
export type RunningContainer = z.infer<typeof RunningContainer>;

/** The containers of a release, in the order of its compose file or by number. */
export function runningContainers(
  state: ReleaseState,
  { networks }: Pick<EngineCapabilities, "networks">,
): readonly RunningContainer[] {
  const { deploymentUuid, containers, upstream } = state;
  const all = containers?.map((one) => ({ ...one, title: containerTitle(one) })) ?? [
    { ...state, title: null, port: upstream?.port ?? null },
  ];
  return all.map((one) => ({
    name: one.title,
    state: one.state,
    health: one.health ?? null,
    restart_count: one.restartCount,
    exit_code: one.exitCode,
    started_at: timestampOrNull(one.startedAt),
    // Without networks of its own, an engine's releases share the ports of the machine, so each has another one.
    port: networks ? one.port : null,
    deployment_uuid: deploymentUuid,
  }));
}
