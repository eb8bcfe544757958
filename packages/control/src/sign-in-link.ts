import type { Clock, Ids, Stores } from "@berth/core/ports";
import { LINK_CODE_LENGTH, LINK_HOURS } from "@berth/core/team";

interface LinkDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly hashToken: (secret: string) => string;
  readonly instanceUrl: string | null;
}

interface LinkFor {
  readonly user_id: number;
  readonly team_id: number;
  readonly replaces_password: boolean;
}

/** Must run in the transaction of its event. @returns The link; its code is stored nowhere. */
export async function insertSignInLink(
  { clock, ids, hashToken, instanceUrl }: LinkDeps,
  tx: Stores,
  link: LinkFor,
  name: string,
): Promise<{ readonly code: string; readonly url: string | null; readonly expiresAt: Date }> {
  const code = ids.secret(LINK_CODE_LENGTH);
  const expiresAt = new Date(clock.now().getTime() + LINK_HOURS * 3_600_000);
  await tx.members.insertLink({ ...link, expires_at: expiresAt, hash: hashToken(code) });
  const payload = { team_id: link.team_id, user_id: link.user_id, name };
  await tx.events.append({ type: "member.link_created", resource_uuid: null, payload });
  const url = instanceUrl === null ? null : `${instanceUrl.replace(/\/$/, "")}/sign-in#code=${code}`;
  return { code, url, expiresAt };
}
