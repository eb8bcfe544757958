/**
 * Why suites are left out, for the end of the run; `undefined` while there is time for them. A run with a time limit sets
 * `BERTH_TEST_LATE_AT` to the second since 1970 from which it starts no large suites, and `BERTH_TEST_SLOW_AT` to the one
 * from which it starts no others with whole servers (`tooling/vitest/late-suites.ts`). On a slow machine it then finishes
 * what is left, where it would finish nothing.
 */
export function lateReason(variable: "BERTH_TEST_LATE_AT" | "BERTH_TEST_SLOW_AT" = "BERTH_TEST_LATE_AT") {
  const lateAt = Number(process.env[variable] ?? Number.POSITIVE_INFINITY);
  return Date.now() / 1000 < lateAt ? undefined : "the machine is too slow to try it within the run's time limit";
}
