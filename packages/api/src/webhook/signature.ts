import { createHash, timingSafeEqual, webcrypto } from "node:crypto";
import type { SignatureScheme } from "@berth/core/webhook";

/**
 * Whether the signature of a delivery proves knowledge of the secret. Compared in constant time in any case.
 *
 * @param body As received, byte for byte.
 */
export async function isSignedWith(
  type: SignatureScheme["type"],
  secret: string,
  presented: string | undefined,
  body: Uint8Array,
): Promise<boolean> {
  if (presented === undefined || presented === "" || secret === "") return false;
  return await SCHEMES[type](secret, presented, body);
}

type Check = (secret: string, presented: string, body: Uint8Array) => Promise<boolean>;

const SCHEMES: Readonly<Record<SignatureScheme["type"], Check>> = {
  // Off the main thread: a body may be large, and a repository's applications may have many secrets.
  "hmac-sha256": async (secret, presented, body) => {
    // Another algorithm, such as sha1, is not accepted.
    const hex = /^sha256=([0-9a-f]{64})$/i.exec(presented)?.[1];
    if (hex === undefined) return false;
    const key = await webcrypto.subtle.importKey("raw", Buffer.from(secret), HMAC, false, ["sign"]);
    // Bodies are received into memory of their own, which no other thread shares.
    const digest = await webcrypto.subtle.sign("HMAC", key, body as Uint8Array<ArrayBuffer>);
    return timingSafeEqual(Buffer.from(digest), Buffer.from(hex, "hex"));
  },
  // Compares digests, which have one length, so that not even the length of the secret is revealed.
  token: async (secret, presented) => timingSafeEqual(digestOf(secret), digestOf(presented)),
};

const HMAC = { name: "HMAC", hash: "SHA-256" };

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
