import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const base64Url = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
const sha256 = (bytes: Uint8Array | string): Buffer => createHash("sha256").update(bytes).digest();

interface Creation {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

interface Use {
  readonly challenge: string;
  readonly rpId: string;
}

export interface TestPasskey {
  readonly id: string;
  created(options: Creation, origin: string): object;
  /** @param changes Of what the authenticator says; by default as an honest one does. */
  used(
    options: Use,
    origin: string,
    changes?: { readonly isUnlocked?: boolean; readonly counter?: number },
  ): { readonly response: { readonly signature: string } };
}

/** A passkey as an authenticator without attestation keeps one: ES256, and a count of uses. */
export function testPasskey(): TestPasskey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const id = randomBytes(32);
  let userHandle = "AAAA";
  let uses = 0;
  const named = { id: base64Url(id), rawId: base64Url(id), type: "public-key" };
  const clientData = (type: string, challenge: string, origin: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const authenticatorData = (rpId: string, flags: number, counter: number, rest: Uint8Array = new Uint8Array()) => {
    const fixed = Buffer.alloc(5);
    fixed.writeUInt8(flags, 0);
    fixed.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(rpId), fixed, rest]);
  };
  return {
    id: base64Url(id),
    created({ challenge, rp, user }, origin) {
      userHandle = user.id;
      const key = cbor(
        new Map<unknown, unknown>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, Buffer.from(x, "base64url")],
          [-3, Buffer.from(y, "base64url")],
        ]),
      );
      const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key]);
      const authData = authenticatorData(rp.id, PRESENT | UNLOCKED | HAS_CREDENTIAL, 0, credential);
      const attestationObject = cbor(
        new Map<unknown, unknown>([
          ["fmt", "none"],
          ["attStmt", new Map()],
          ["authData", authData],
        ]),
      );
      const clientDataJSON = clientData("webauthn.create", challenge, origin);
      return {
        ...named,
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64Url(clientDataJSON),
          attestationObject: base64Url(attestationObject),
          transports: ["internal"],
        },
      };
    },
    used({ challenge, rpId }, origin, { isUnlocked = true, counter = ++uses } = {}) {
      const data = authenticatorData(rpId, isUnlocked ? PRESENT | UNLOCKED : PRESENT, counter);
      const clientDataJSON = clientData("webauthn.get", challenge, origin);
      const signature = sign("sha256", Buffer.concat([data, sha256(clientDataJSON)]), privateKey);
      return {
        ...named,
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64Url(clientDataJSON),
          authenticatorData: base64Url(data),
          signature: base64Url(signature),
          userHandle,
        },
      };
    },
  };
}

// Flags of WebAuthn's authenticator data.
const PRESENT = 0x01;
const UNLOCKED = 0x04;
const HAS_CREDENTIAL = 0x40;

/** The few types of CBOR that a credential has. */
function cbor(value: unknown): Buffer {
  if (typeof value === "number") return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) {
    const pairs = [...value].flatMap(([key, entry]) => [cbor(key), cbor(entry)]);
    return Buffer.concat([head(5, value.size), ...pairs]);
  }
  throw new TypeError("This type is not in a credential.");
}

function head(type: number, size: number): Buffer {
  const major = type << 5;
  if (size < 24) return Buffer.from([major | size]);
  if (size < 0x100) return Buffer.from([major | 24, size]);
  return Buffer.from([major | 25, size >> 8, size & 0xff]);
}
