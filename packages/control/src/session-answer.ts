import { DomainError, timestamp } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";
import { CONFIRMED_MINUTES, type CurrentSession, effectiveAbilities, isConfirmed, sessionView } from "@berth/core/team";

/** @throws DomainError `auth.unauthenticated` if it has ended meanwhile */
export async function currentSession(
  { accounts }: Pick<SystemStores, "accounts">,
  id: number,
  userId: number,
  now: Date,
): Promise<CurrentSession> {
  const found = await accounts.current(userId, id);
  const team = found?.teams.find((one) => one.id === found.session.team_id);
  if (found === undefined || team === undefined) {
    throw new DomainError("auth.unauthenticated", "This session has ended. Sign in again.");
  }
  const { session, user, teams } = found;
  const { confirmed_at } = session;
  const until = confirmed_at && new Date(confirmed_at.getTime() + CONFIRMED_MINUTES * 60_000);
  return {
    session: sessionView(session, id),
    user,
    team,
    teams: [...teams],
    abilities: [...effectiveAbilities(team.role, ["root"])],
    needs_second_factor: session.lacks_second_factor,
    confirmed_until: until !== null && isConfirmed(confirmed_at, now) ? timestamp(until) : null,
  };
}
