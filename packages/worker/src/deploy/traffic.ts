import type { ReleaseRecord } from "@berth/core/ports";

/** Whether a deployment's release has become the live one, now or before. */
export const hasTraffic = (release: ReleaseRecord | undefined): boolean =>
  release !== undefined && release.role !== "candidate";
