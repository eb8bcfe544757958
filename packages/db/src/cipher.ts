import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DomainError } from "@berth/core";

const KEY_BYTES = 32;
const NONCE_BYTES = 12; // the size that GCM is specified for
const TAG_BYTES = 16;
const ALGORITHM = "aes-256-gcm";

/** Encrypts values at rest: AES-256-GCM, one byte for the key's version, nonce, tag, ciphertext. */
export interface Cipher {
  /** Version of the key that encrypts: 1 for the first key of the file. */
  readonly newestVersion: number;
  /** @param place Identifies the row and column. A value copied to another place cannot be decrypted there. */
  seal(text: string, place: string): Uint8Array;
  /**
   * @throws DomainError `internal.error` if the value was encrypted with another key or for another place, or was
   * changed.
   */
  open(sealed: Uint8Array, place: string): string;
}

/** @param keys 32 bytes each, oldest first: the newest encrypts, all decrypt. At most 255. */
export function cipher(keys: readonly Uint8Array[]): Cipher {
  const newest = keys.at(-1);
  if (newest === undefined || keys.length > 255 || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new DomainError("setup.failed", `A key file holds one to 255 keys of ${KEY_BYTES} bytes.`);
  }
  return {
    newestVersion: keys.length,
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const sealing = createCipheriv(ALGORITHM, newest, nonce).setAAD(Buffer.from(place));
      const ciphertext = Buffer.concat([sealing.update(text, "utf8"), sealing.final()]);
      return Buffer.concat([Buffer.of(keys.length), nonce, sealing.getAuthTag(), ciphertext]);
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      const key = keys[(bytes[0] ?? 0) - 1];
      const tagAt = 1 + NONCE_BYTES;
      const textAt = tagAt + TAG_BYTES;
      try {
        if (key === undefined) throw new Error(`No key of version ${bytes[0]}`);
        const opening = createDecipheriv(ALGORITHM, key, bytes.subarray(1, tagAt), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(tagAt, textAt));
        return Buffer.concat([opening.update(bytes.subarray(textAt)), opening.final()]).toString("utf8");
      } catch (cause) {
        throw new DomainError(
          "internal.error",
          "A stored secret cannot be decrypted. Put back the key file it was written with.",
          { cause },
        );
      }
    },
  };
}

/**
 * The keys of a file, oldest first, one line of base64 each. If the file is missing it is created with one random key
 * and mode 0600. Two processes that create it at once get the same key.
 *
 * @throws DomainError `setup.failed` if it cannot be read or created, or has other content.
 */
export async function loadKeyFile(path: string): Promise<readonly Uint8Array[]> {
  const text = await readKeyFile(path);
  const keys = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => Buffer.from(line, "base64"));
  if (keys.length === 0 || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new DomainError("setup.failed", `${path} is not a key file. Put back the one that this server wrote.`);
  }
  return keys;
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (!isMissing(cause)) throw unusable(path, cause);
  }
  try {
    await createKeyFile(path);
    return await readFile(path, "utf8");
  } catch (cause) {
    throw unusable(path, cause);
  }
}

/** Writes another file completely to the disk and then links it, so that nobody ever reads half a key. */
async function createKeyFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(`${randomBytes(KEY_BYTES).toString("base64")}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    // Unlike a rename, a link does not replace a file that another process created in the meantime.
    await link(temporary, path).catch((cause) => {
      if (!isExisting(cause)) throw cause;
    });
    await syncFolder(dirname(path));
  } finally {
    await rm(temporary, { force: true });
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const unusable = (path: string, cause: unknown) =>
  new DomainError("setup.failed", `The key file ${path} cannot be read or written. Check who owns it and its folder.`, {
    cause,
  });
const codeOf = (error: unknown) => (error instanceof Error && "code" in error ? error.code : undefined);
const isMissing = (error: unknown) => codeOf(error) === "ENOENT";
const isExisting = (error: unknown) => codeOf(error) === "EEXIST";
