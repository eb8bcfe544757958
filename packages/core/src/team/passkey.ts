import { z } from "zod";
import { DomainError } from "../errors.ts";
import { ResourceName } from "../name.ts";
import type { PasskeyRecord } from "../ports/passkey-record.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";

export const PASSKEYS_MAX = 20;

/** How long a browser may take to answer a challenge. */
export const CHALLENGE_MINUTES = 5;

/** Characters of base64url. A multiple of four, so that decoding and encoding keeps the text. */
export const CHALLENGE_LENGTH = 44;

/** EdDSA, ES256 and RS256 by their numbers at COSE. */
export const PASSKEY_ALGORITHMS = [-8, -7, -257] as const;

/** A challenge answered for one purpose is refused for the others. */
export type ChallengePurpose = "register" | "sign-in" | "confirm";

/** @throws DomainError `resource.state` at an IP address: browsers offer passkeys for names only */
export function passkeyHost(origin: string): string {
  const { hostname } = new URL(origin);
  if (!/^\[|^[\d.]+$/.test(hostname)) return hostname;
  throw new DomainError(
    "resource.state",
    "Browsers offer passkeys for host names only, not for IP addresses. Open the dashboard by its name, or by http://localhost on this machine.",
  );
}

/**
 * A session without the required second factor may set up a first one. A user who has a passkey proves themselves with
 * it instead: otherwise the password alone would be enough to add another, or to take the passkey away.
 * @param lacksSecondFactor Of the session, whichever of its user's teams requires one: a user is the same in all of them.
 * @throws DomainError `auth.second_factor_missing`
 */
export function requirePasskeyUsed(lacksSecondFactor: boolean): void {
  if (!lacksSecondFactor) return;
  throw new DomainError(
    "auth.second_factor_missing",
    "You have a passkey: confirm with it first. If it is lost, ask an owner of the team to reset your second factor.",
  );
}

const base64Url = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[A-Za-z0-9_-]+$/, "Must be base64url.");

/** WebAuthn allows 1023 bytes. */
const CredentialId = base64Url(1364);
const BASE64URL_MAX = 20_000;

/** What every answer of an authenticator has. Programs send what `credential.toJSON()` returns. */
const CREDENTIAL = {
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal("public-key"),
  authenticatorAttachment: z.enum(["platform", "cross-platform"]).optional(),
  clientExtensionResults: z.record(z.string(), z.unknown()).optional().describe("Ignored."),
};

const Transports = z.array(z.string().max(32)).max(10);

export const NewCredential = z.strictObject({
  ...CREDENTIAL,
  response: z.strictObject({
    clientDataJSON: base64Url(BASE64URL_MAX),
    attestationObject: base64Url(BASE64URL_MAX),
    transports: Transports.optional(),
    authenticatorData: base64Url(BASE64URL_MAX).optional().describe("Ignored."),
    publicKey: base64Url(BASE64URL_MAX).optional().describe("Ignored."),
    publicKeyAlgorithm: z.int().optional().describe("Ignored."),
  }),
});
export type NewCredential = z.infer<typeof NewCredential>;

export const UsedCredential = z.strictObject({
  ...CREDENTIAL,
  response: z.strictObject({
    clientDataJSON: base64Url(BASE64URL_MAX),
    authenticatorData: base64Url(BASE64URL_MAX),
    signature: base64Url(BASE64URL_MAX),
    userHandle: base64Url(128).nullable().optional(),
  }),
});
export type UsedCredential = z.infer<typeof UsedCredential>;

export const PasskeyCreate = z.strictObject({
  name: ResourceName.describe("By which its user recognises it, such as the device."),
  credential: NewCredential.describe("The browser's answer to `POST /auth/passkeys/begin`."),
});
export type PasskeyCreate = z.infer<typeof PasskeyCreate>;

const PasskeyId = z.int().min(0).describe("The passkey's number.");
export const PasskeyRename = z.strictObject({ id: PasskeyId, name: ResourceName });
export type PasskeyRename = z.infer<typeof PasskeyRename>;
export const PasskeyChoice = z.strictObject({ id: PasskeyId });

export const PasskeyUse = z.strictObject({ credential: UsedCredential.describe("The browser's answer.") });
export type PasskeyUse = z.infer<typeof PasskeyUse>;

export const Passkey = z
  .object({
    id: z.int(),
    name: z.string(),
    origin: z.string().describe("The dashboard's address where it was made, and where alone it works."),
    is_synced: z.boolean().describe("Whether its keeper copies it to the user's other devices."),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
  })
  .meta({ id: "Passkey", description: "A key of a user's device, which replaces password and code." });
export type Passkey = z.infer<typeof Passkey>;

const Descriptor = z.object({ id: z.string(), type: z.literal("public-key"), transports: z.array(z.string()) });

export const PasskeyCreation = z
  .object({
    challenge: z.string(),
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.object({ type: z.literal("public-key"), alg: z.int() })),
    timeout: z.int(),
    attestation: z.literal("none"),
    excludeCredentials: z.array(Descriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal("required"),
      requireResidentKey: z.literal(true),
      userVerification: z.literal("required"),
    }),
  })
  .meta({
    id: "PasskeyCreation",
    description: "For `navigator.credentials.create`, as `PublicKeyCredentialCreationOptionsJSON`.",
  });
export type PasskeyCreation = z.infer<typeof PasskeyCreation>;

export const PasskeyRequest = z
  .object({
    challenge: z.string(),
    rpId: z.string(),
    timeout: z.int(),
    userVerification: z.literal("required"),
    allowCredentials: z.array(Descriptor).describe("Empty at sign-in: the user chooses among those of their device."),
  })
  .meta({
    id: "PasskeyRequest",
    description: "For `navigator.credentials.get`, as `PublicKeyCredentialRequestOptionsJSON`.",
  });
export type PasskeyRequest = z.infer<typeof PasskeyRequest>;

type Known = Pick<PasskeyRecord, "credential_id" | "transports">;
const descriptors = (passkeys: readonly Known[]) =>
  passkeys.map(({ credential_id, transports }) => ({
    id: credential_id,
    type: "public-key" as const,
    transports: [...transports],
  }));

const COMMON = { timeout: CHALLENGE_MINUTES * 60_000 } as const;

/**
 * @param handle By which the authenticator groups the passkeys of a user, in base64url.
 * @param passkeys Those that the user has: a device is registered once.
 */
export const passkeyCreation = (
  challenge: string,
  host: string,
  user: { readonly handle: string; readonly email: string; readonly name: string },
  passkeys: readonly Known[],
): PasskeyCreation => ({
  ...COMMON,
  challenge,
  rp: { id: host, name: "Berth" },
  user: { id: user.handle, name: user.email, displayName: user.name },
  pubKeyCredParams: PASSKEY_ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
  attestation: "none",
  excludeCredentials: descriptors(passkeys),
  // Kept by the device, so that sign-in asks for no address; unlocked there, so that it counts as two factors.
  authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
});

export const passkeyRequest = (challenge: string, host: string, passkeys: readonly Known[]): PasskeyRequest => ({
  ...COMMON,
  challenge,
  rpId: host,
  userVerification: "required",
  allowCredentials: descriptors(passkeys),
});

export const passkeyView = (passkey: PasskeyRecord): Passkey => ({
  id: passkey.id,
  name: passkey.name,
  origin: passkey.origin,
  is_synced: passkey.is_synced,
  created_at: timestamp(passkey.created_at),
  last_used_at: timestampOrNull(passkey.last_used_at),
});
