import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { SignatureScheme } from "@berth/core/webhook";

/**
 * Whether the signature of a delivery proves knowledge of the secret. Compared in constant time in any case.
 *
 * @param body As received, byte for byte.
 */
export function isSignedWith(
  type: SignatureScheme["type"],
  secret: string,
  presented: string | undefined,
  body: Uint8Array,
): boolean {
  if (presented === undefined || presented === "" || secret === "") return false;
  return SCHEMES[type](secret, presented, body);
}

const SCHEMES: Readonly<
  Record<SignatureScheme["type"], (secret: string, presented: string, body: Uint8Array) => boolean>
> = {
  "hmac-sha256": (secret, presented, body) => {
    // Another algorithm, such as sha1, is not accepted.
    const hex = /^sha256=([0-9a-f]{64})$/i.exec(presented)?.[1] ?? "0".repeat(64);
    const digest = createHmac("sha256", secret).update(body).digest();
    return timingSafeEqual(digest, Buffer.from(hex, "hex"));
  },
  // Compares digests, which have one length, so that not even the length of the secret is revealed.
  token: (secret, presented) => timingSafeEqual(digestOf(secret), digestOf(presented)),
};

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
