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
  const account = await accounts.find(userId);
  const session = (await accounts.sessions(userId)).find((one) => one.id === id);
  const teams = await accounts.teams(userId);
  const team = teams.find((one) => one.id === session?.team_id);
  if (account === undefined || session === undefined || team === undefined) {
    throw new DomainError("auth.unauthenticated", "This session has ended. Sign in again.");
  }
  const { confirmed_at } = session;
  const until = confirmed_at && new Date(confirmed_at.getTime() + CONFIRMED_MINUTES * 60_000);
  return {
    session: sessionView(session, id),
    user: { id: account.id, name: account.name, email: account.email },
    team,
    teams: [...teams],
    abilities: [...effectiveAbilities(team.role, ["root"])],
    needs_second_factor: session.lacks_second_factor,
    confirmed_until: until !== null && isConfirmed(confirmed_at, now) ? timestamp(until) : null,
  };
}
