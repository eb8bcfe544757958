import { Secret, TOTP } from "otpauth";

/** What every authenticator app takes for granted (RFC 6238). */
const PARAMETERS = { issuer: "Berth", algorithm: "SHA1", digits: 6, period: 30 } as const;
const SECRET_BYTES = 20;
const RECOVERY_CODE_BYTES = 10;
/** Codes of the time step before and after are accepted, for clocks that are a little off. */
const WINDOW_STEPS = 1;

/** Base32. */
export const newSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** 80 bits of chance in base32: too many to try, so that a quick hash is enough. */
export const newRecoveryCode = (): string => new Secret({ size: RECOVERY_CODE_BYTES }).base32;

export const otpauthUri = (secret: string, email: string): string =>
  new TOTP({ ...PARAMETERS, label: email, secret: Secret.fromBase32(secret) }).toString();

/** The time step whose code this is, counted from 1970; `undefined` where it is of none near `now`. */
export function stepOf(secret: string, code: string, now: Date): number | undefined {
  const totp = new TOTP({ ...PARAMETERS, secret: Secret.fromBase32(secret) });
  const timestamp = now.getTime();
  const delta = totp.validate({ token: code, timestamp, window: WINDOW_STEPS });
  return delta === null ? undefined : totp.counter({ timestamp }) + delta;
}
