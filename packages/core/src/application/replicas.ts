import type { ApplicationSettings } from "./application.ts";
import { lastingContainerName } from "./container-name.ts";
import { readRunOptions } from "./run-options.ts";

/** The number of containers of a release; `undefined`: its compose file decides. A preview has one. */
export function replicasWanted(
  { build_pack, replicas }: Pick<ApplicationSettings, "build_pack" | "replicas">,
  pullRequestId = 0,
): number | undefined {
  if (build_pack === "dockercompose") return undefined;
  return pullRequestId === 0 ? replicas : 1;
}

type Settings = Pick<
  ApplicationSettings,
  | "build_pack"
  | "replicas"
  | "autoscaling_enabled"
  | "autoscaling_replicas_max"
  | "ports_mappings"
  | "custom_docker_run_options"
  | "is_consistent_container_name_enabled"
  | "custom_internal_name"
>;

/** Why an application with these settings cannot have several containers, by field; empty when it can. */
export function replicaProblems(settings: Settings): Readonly<Record<string, readonly string[]>> {
  return severalProblems(settings, problemOf(settings));
}

/**
 * The same for an application on a cluster.
 * @param paths Where it mounts data, which is on one node.
 */
export const dataProblems = (settings: Replicated, paths: readonly string[]): ReturnType<typeof replicaProblems> =>
  severalProblems(
    settings,
    paths.length === 0
      ? undefined
      : `the data of ${paths.join(", ")} is on one node of the cluster. Store it in a database or an object storage first.`,
  );

function severalProblems(settings: Replicated, problem: string | undefined): ReturnType<typeof replicaProblems> {
  if (replicasMost(settings) === 1 || problem === undefined) return {};
  const field = settings.replicas > 1 ? "replicas" : "autoscaling_replicas_max";
  return { [field]: [`Must be 1: ${problem}`] };
}

type Replicated = Pick<ApplicationSettings, "replicas" | "autoscaling_enabled" | "autoscaling_replicas_max">;

/** The most containers that it may have. */
export const replicasMost = ({ replicas, autoscaling_enabled, autoscaling_replicas_max }: Replicated): number =>
  autoscaling_enabled ? Math.max(replicas, autoscaling_replicas_max) : replicas;

function problemOf(settings: Settings): string | undefined {
  if (settings.build_pack === "dockercompose") {
    return "the compose file decides for each of its containers. Set deploy.replicas there.";
  }
  if (settings.ports_mappings) {
    return `only one container can use port ${settings.ports_mappings.split(":")[0]} of the server. Clear ports_mappings and reach it by a domain.`;
  }
  if (lastingContainerName({ uuid: "", settings }) !== undefined) {
    return "only one container can have the lasting name. Turn off is_consistent_container_name_enabled.";
  }
  if (readRunOptions(settings.custom_docker_run_options).options.ip !== null) {
    return "only one container can have the address of --ip. Remove it from custom_docker_run_options.";
  }
  return undefined;
}
