import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { mountedAt, type ResourcePaths } from "./paths.ts";
import type { Runtime } from "./runtime.ts";

/** Default PATH of Linux systems. */
export const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export const pathOf = (runtime: Runtime, systemPath: string = SYSTEM_PATH): string => `${runtime.bin}:${systemPath}`;

/** The variable that marks every process of a release, even one that left its process group. */
export const markerOf = (ref: ReleaseRef): string => `${MARKER}=${ref.deploymentUuid}`;

/**
 * The whole environment of an application: its own variables and those it needs to run here, nothing of ours. Berth
 * always sets PORT, since two releases run side by side during a switch.
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
