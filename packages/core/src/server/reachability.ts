/** Recent probes of a server as bits, the newest in the lowest bit; 1 is a failure. */
export interface Reachability {
  readonly probes: number;
  readonly unreachable_count: number;
  readonly is_reachable: boolean;
}

/**
 * The reachability after one more probe. A server becomes unreachable when 3 of its last 5 probes have failed, so
 * that one lost packet changes nothing. The first success makes it reachable again, and earlier failures are
 * forgotten, so that it takes three new ones.
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
