import { DomainError } from "@berth/core";
import type { Scope } from "@berth/core/team";

/** Calls that stay open and use resources meanwhile. */
export type OpenCall = "stream" | "upload" | "download";

export interface OpenCallLimits {
  readonly perToken: number;
  readonly perTeam: number;
}

/**
 * A team may read logs in many windows and deploy several folders at once, but not more than this. A tab of the dashboard
 * has two or three streams; 400 of them that wait cost 4 % of a core (`npm run bench -- dashboard`).
 */
export const OPEN_CALLS: Readonly<Record<OpenCall, OpenCallLimits>> = {
  stream: { perToken: 400, perTeam: 1000 },
  upload: { perToken: 4, perTeam: 8 },
  download: { perToken: 4, perTeam: 8 },
};

/**
 * Limits the open calls of tokens and teams.
 * @returns Counts one call and returns a function that ends it. Throws DomainError `rate.limited`.
 */
export function openCalls(limits = OPEN_CALLS): (kind: OpenCall, scope: Scope) => () => void {
  const open = new Map<string, number>();
  const add = (key: string, change: 1 | -1) => {
    const count = (open.get(key) ?? 0) + change;
    if (count === 0) open.delete(key);
    else open.set(key, count);
  };
  return (kind, { teamId, actor }) => {
    const { perToken, perTeam } = limits[kind];
    const bounds = [
      { key: `${kind} token ${actor.type === "token" ? actor.id : actor.name}`, max: perToken, owner: "a token" },
      { key: `${kind} team ${teamId}`, max: perTeam, owner: "a team" },
    ];
    const full = bounds.find(({ key, max }) => (open.get(key) ?? 0) >= max);
    if (full !== undefined) {
      const message = `Limit reached: at most ${full.max} open ${kind}s of ${full.owner}. Close one, or wait until one ends.`;
      throw new DomainError("rate.limited", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    for (const { key } of bounds) add(key, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      for (const { key } of bounds) add(key, -1);
    };
  };
}

const RETRY_AFTER_SECONDS = 10;
