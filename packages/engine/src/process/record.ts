import type { ReleaseSpec } from "@berth/core/deploy";
import type { DesiredState } from "@berth/core/resource";
import type { ProcessIdentity } from "@berth/host";
import { readJson, writeJson } from "@berth/host";
import type { RunPaths } from "./paths.ts";

/** State of a release, stored so that it survives the control plane. */
export interface ReleaseRecord {
  readonly desired: DesiredState;
  /** The port that it is told to listen on, in `PORT`. */
  readonly port: number | null;
  /** The port of its own choice that it listens on instead. Records of earlier versions have none. */
  readonly ownPort?: number | null;
  /** Leader of its process group, while it runs. */
  readonly process: ProcessIdentity | null;
  readonly restartCount: number;
  readonly exitCode: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number | null;
  /** Runtime folder (Node and npm) that it was started with. */
  readonly runtime: string | null;
  /** Whether its removal has begun, and must be finished. */
  readonly isRemoving: boolean;
}

export const NEW_RECORD: ReleaseRecord = {
  desired: "stopped",
  port: null,
  process: null,
  restartCount: 0,
  exitCode: null,
  startedAt: null,
  runtime: null,
  isRemoving: false,
};

export const readRecord = (paths: RunPaths) => readJson<ReleaseRecord>(paths.record);
export const writeRecord = (paths: RunPaths, record: ReleaseRecord) => writeJson(paths.record, record);

export const readSpec = (paths: RunPaths) => readJson<ReleaseSpec>(paths.spec);
export const writeSpec = (paths: RunPaths, spec: ReleaseSpec) => writeJson(paths.spec, spec);
