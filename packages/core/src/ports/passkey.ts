import type { ChallengePurpose, NewCredential, UsedCredential } from "../team/passkey.ts";
import type { PasskeyKey, PasskeyRecord } from "./passkey-record.ts";

/** Checks what authenticators sign. Each answer must name the origin, and say that its user unlocked the device. */
export interface PasskeyVerifier {
  /**
   * @param takeChallenge Whether this challenge was sent, and is taken now.
   * @returns `undefined` if anything is wrong
   */
  registered(
    credential: NewCredential,
    origin: string,
    takeChallenge: (challenge: string) => Promise<boolean>,
  ): Promise<PasskeyKey | undefined>;
  /** @returns The new counter and state; `undefined` if anything is wrong */
  used(
    credential: UsedCredential,
    passkey: PasskeyKey,
    origin: string,
    takeChallenge: (challenge: string) => Promise<boolean>,
  ): Promise<Pick<PasskeyKey, "counter" | "is_synced"> | undefined>;
}

/** Of all teams: a user is the same in each. */
export interface PasskeyStore {
  /** The oldest first. */
  list(userId: number): Promise<readonly PasskeyRecord[]>;
  /** Of any user. */
  findByCredential(credentialId: string): Promise<PasskeyRecord | undefined>;
  /** @throws DomainError `resource.already_exists` if it is registered */
  insert(passkey: Omit<PasskeyRecord, "id" | "created_at" | "last_used_at">): Promise<PasskeyRecord>;
  /** `undefined` if the user has no such passkey. */
  rename(userId: number, id: number, name: string): Promise<PasskeyRecord | undefined>;
  /** `false` if it was removed. */
  recordUse(id: number, use: Pick<PasskeyKey, "counter" | "is_synced">, at: Date): Promise<boolean>;
  /**
   * Ends the sessions that were begun or confirmed with it.
   * @param keptSessionId Continues.
   * @returns `undefined` if the user has no such passkey
   */
  delete(userId: number, id: number, keptSessionId: number): Promise<PasskeyRecord | undefined>;
  /** With their sessions. @returns How many there were. */
  deleteAll(userId: number): Promise<number>;

  /** @param hash SHA-256 (hex) of the challenge. @param userId `null` for a sign-in. */
  insertChallenge(challenge: {
    readonly hash: string;
    readonly purpose: ChallengePurpose;
    readonly user_id: number | null;
    readonly expires_at: Date;
  }): Promise<void>;
  /** Deletes it, so that an answer counts once. `false` if it is unknown, expired, or was sent for something else. */
  takeChallenge(hash: string, purpose: ChallengePurpose, userId: number | null): Promise<boolean>;
}
