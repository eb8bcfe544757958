/** What a user proves themselves with beside their password. */
export interface SecondFactorRecord {
  /** Base32, for an authenticator app. */
  readonly secret: string;
  /** `null` until the app's first code was entered. */
  readonly confirmed_at: Date | null;
  readonly recovery_codes_left: number;
}

/** Of all teams: a user is the same in each. */
export interface SecondFactorStore {
  find(userId: number): Promise<SecondFactorRecord | undefined>;
  /** Replaces one that was not confirmed. `false` where one is. @param uuid Names the place that its secret is sealed for. */
  begin(userId: number, uuid: string, secret: string): Promise<boolean>;
  /** `false` where there is none, or it is confirmed. */
  confirm(userId: number, at: Date): Promise<boolean>;
  /** Replaces all that there are. @param hashes SHA-256 (hex). */
  setRecoveryCodes(userId: number, hashes: readonly string[]): Promise<void>;
  /** `false` where a code of this time step, or of a later one, was accepted before. */
  acceptStep(userId: number, step: number): Promise<boolean>;
  /** `false` for one that is unknown or was used. */
  acceptRecoveryCode(userId: number, hash: string): Promise<boolean>;
  /** `false` where there was none. */
  delete(userId: number): Promise<boolean>;
}
