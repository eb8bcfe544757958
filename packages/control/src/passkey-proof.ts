import { DomainError } from "@berth/core";
import type { PasskeyRecord, SystemStores } from "@berth/core/ports";
import {
  CHALLENGE_LENGTH,
  CHALLENGE_MINUTES,
  type ChallengePurpose,
  type PasskeyRequest,
  type PasskeyUse,
  passkeyHost,
  passkeyRequest,
} from "@berth/core/team";
import type { SignInDeps } from "./session-open.ts";

type PasskeyDeps = Pick<SignInDeps, "system" | "clock" | "ids" | "hashToken" | "passkeyVerifier">;

/** What a passkey is used for. */
interface PasskeyAsk {
  readonly purpose: ChallengePurpose;
  /** `null` while nobody is signed in. */
  readonly userId: number | null;
  /** Of the page that asks. */
  readonly origin: string;
}

/** A challenge that is sent, and its answer, which counts once. */
export function passkeyProofs({ system, clock, ids, hashToken, passkeyVerifier }: PasskeyDeps) {
  const handleOf = (userId: number) => hashToken(`user ${userId}`);

  async function challenge(purpose: ChallengePurpose, userId: number | null): Promise<string> {
    const text = ids.secret(CHALLENGE_LENGTH);
    const expires_at = new Date(clock.now().getTime() + CHALLENGE_MINUTES * 60_000);
    await system.passkeys.insertChallenge({ hash: hashToken(text), purpose, user_id: userId, expires_at });
    return text;
  }

  const taking = (purpose: ChallengePurpose, userId: number | null) => (text: string) =>
    system.passkeys.takeChallenge(hashToken(text), purpose, userId);

  return {
    handleOf,
    challenge,
    taking,

    /** @throws DomainError `resource.state` at an IP address */
    async begin({ purpose, userId, origin }: PasskeyAsk, passkeys: readonly PasskeyRecord[]): Promise<PasskeyRequest> {
      const host = passkeyHost(origin);
      return passkeyRequest(await challenge(purpose, userId), host, passkeys);
    },

    /**
     * A passkey works for the page that made it alone: its host name is not enough, since an application on another
     * port of it could ask for an answer, too.
     * @returns Which passkey it was, and how its use is recorded, with what the proof is for
     * @throws DomainError `auth.passkey_failed`
     */
    async check(
      { credential }: PasskeyUse,
      { purpose, userId, origin }: PasskeyAsk,
    ): Promise<{ readonly passkey: PasskeyRecord; record(tx: SystemStores): Promise<void> }> {
      const passkey = await system.passkeys.findByCredential(credential.id);
      if (passkey === undefined || passkey.origin !== origin) throw passkeyFailed();
      if (userId !== null && passkey.user_id !== userId) throw passkeyFailed();
      const { userHandle } = credential.response;
      if (typeof userHandle === "string" && userHandle !== handleOf(passkey.user_id)) throw passkeyFailed();
      const use = await passkeyVerifier.used(credential, passkey, origin, taking(purpose, userId));
      if (use === undefined) throw passkeyFailed();
      const record = async (tx: SystemStores) => {
        // It may have been removed in between.
        if (!(await tx.passkeys.recordUse(passkey.id, use, clock.now()))) throw passkeyFailed();
      };
      return { passkey, record };
    },
  };
}

export const passkeyFailed = () =>
  new DomainError(
    "auth.passkey_failed",
    "This passkey was not accepted: it is unknown, was made at another address, or took too long. Try again, or use your password.",
  );
