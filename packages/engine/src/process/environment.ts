import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { mountedAt, type ResourcePaths } from "./paths.ts";
import type { Runtime } from "./runtime.ts";

/** PATH of any Linux. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export const pathOf = (runtime: Runtime, systemPath: string = SYSTEM_PATH): string => `${runtime.bin}:${systemPath}`;

/** The entry by which every process of a release is found, wherever it went. */
export const markerOf = (ref: ReleaseRef): string => `${MARKER}=${ref.deploymentUuid}`;

/**
 * The whole environment of an application: its own variables and what it needs to run here, nothing of ours. PORT is
 * always ours, since two releases run side by side while one takes over from the other.
 */
export function releaseEnv(
  spec: ReleaseSpec,
  place: { readonly port: number; readonly host: string; readonly paths: ResourcePaths; readonly runtime: Runtime },
): Record<string, string> {
  const storages = spec.storages.map((mount) => [
    storageVariable(mount.name),
    mountedAt(mount, place.paths, spec.deploymentUuid),
  ]);
  return {
    HOST: place.host,
    HOME: place.paths.home,
    TMPDIR: place.paths.temporary,
    ...Object.fromEntries(storages),
    ...spec.env,
    PATH: pathOf(place.runtime, spec.env.PATH),
    PORT: String(place.port),
    [MARKER]: spec.deploymentUuid,
  };
}

/** Name of the entry that marks a release. */
export const MARKER = "BERTH_DEPLOYMENT_UUID";

const storageVariable = (name: string): string => `BERTH_STORAGE_${name.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}`;
