/**
 * Why suites are left out, for the end of the run; `undefined` while there is time for them. A run with a time limit
 * sets `BERTH_TEST_LATE_AT` to the second since 1970 from which it starts no large suites, and none of whole servers
 * (`tooling/vitest/late-suites.ts`): on a slow machine it then finishes what is left, where it would finish nothing.
 */
export function lateReason(): string | undefined {
  const lateAt = Number(process.env.BERTH_TEST_LATE_AT ?? Number.POSITIVE_INFINITY);
  if (Date.now() / 1000 < lateAt) return undefined;
  return "the machine is too slow to try it within the run's time limit";
}
