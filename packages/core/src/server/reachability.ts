/** How a server answered lately: the last probes, a bit each, the newest lowest, set where one failed. */
export interface Reachability {
  readonly probes: number;
  readonly unreachable_count: number;
  readonly is_reachable: boolean;
}

/**
 * What is known after one more probe. A server is unreachable once 3 of its last 5 probes failed, so that one lost
 * packet moves nothing. The first answer makes it reachable again: what waits for it need not wait longer, and it takes
 * three more failures to lose it once more, since earlier ones are forgotten then.
 */
export function reachabilityAfter(
  before: Pick<Reachability, "probes" | "is_reachable">,
  hasAnswered: boolean,
): Reachability {
  if (hasAnswered && !before.is_reachable) return { probes: 0, unreachable_count: 0, is_reachable: true };
  const probes = ((before.probes << 1) | (hasAnswered ? 0 : 1)) & KEPT_MASK;
  const failures = countOf(probes);
  return { probes, unreachable_count: failures, is_reachable: before.is_reachable && failures < FAILURES_MAX };
}

function countOf(bits: number): number {
  let count = 0;
  for (let rest = bits; rest > 0; rest >>= 1) count += rest & 1;
  return count;
}

const KEPT_MASK = 0b11111;
const FAILURES_MAX = 3;
