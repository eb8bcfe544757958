import pLimit, { type LimitFunction } from "p-limit";

/** Runs work of a team when it is its turn. Work without a team counts as that of one more. */
export type FairTurns = <Result>(teamId: number | undefined, work: () => Promise<Result>) => Promise<Result>;

/**
 * Runs a few works at a time. A team has one of them at most, and waits for no more than one work of each other team:
 * its works wait for each other first, so the queue for all never holds two of a team.
 */
export function fairTurns(atOnce: number): FairTurns {
  const all = pLimit(atOnce);
  const teams = new Map<number | undefined, { readonly limit: LimitFunction; works: number }>();
  return async (teamId, work) => {
    const team = teams.get(teamId) ?? { limit: pLimit(1), works: 0 };
    teams.set(teamId, team);
    team.works += 1;
    try {
      return await team.limit(() => all(work));
    } finally {
      team.works -= 1;
      if (team.works === 0) teams.delete(teamId);
    }
  };
}
