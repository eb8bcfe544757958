import type { ReleaseState } from "@berth/core/deploy";

/** Whether nothing that is known of both has changed. */
export function isSameState(one: ReleaseState, other: ReleaseState | undefined): boolean {
  const isUncounted = one.isUncounted === true || other?.isUncounted === true;
  const compared = (key: string, value: unknown) => (isUncounted && COUNTED.has(key) ? undefined : value);
  return JSON.stringify(one, compared) === JSON.stringify(other, compared);
}

/** What is not known of a release that is not counted yet. */
const COUNTED: ReadonlySet<string> = new Set(["restartCount", "startedAt", "isUncounted"]);
