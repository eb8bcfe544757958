import { createHash } from "node:crypto";
import type { KeyReader } from "@berth/core/ports";
import { invalidKey } from "@berth/core/source";

/** Reads texts that only look like keys: the public key is derived from the text. */
export const testKeyReader: KeyReader = {
  async read(text) {
    if (text.includes("ENCRYPTED")) throw invalidKey("It needs a passphrase.");
    const body = /-----BEGIN OPENSSH PRIVATE KEY-----\n(\w+)\n-----END/.exec(text)?.[1];
    if (body === undefined) throw invalidKey("It is damaged.");
    const publicKey = createHash("sha256").update(body).digest();
    return {
      type: "ed25519",
      publicKey: `ssh-ed25519 ${publicKey.toString("base64")}`,
      fingerprint: createHash("sha256").update(publicKey).digest("base64").replace(/=+$/, ""),
      fingerprintMd5: createHash("md5")
        .update(publicKey)
        .digest("hex")
        .replaceAll(/(..)(?!$)/g, "$1:"),
      sshKey: text,
    };
  },
};

/** A text that `testKeyReader` accepts as a key; the same for the same `seed`. */
export const testKey = (seed: string): string =>
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${Buffer.from(seed).toString("hex")}\n-----END OPENSSH PRIVATE KEY-----\n`;
