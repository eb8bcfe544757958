import { createHash } from "node:crypto";
import type { Site } from "@berth/core/ports";
import type { RoutedSite } from "./routed-site.ts";

const COST = 10; // OWASP's minimum; takes 60 ms.

/** Hashes each site's password once. bcrypt reads the first 72 bytes, also of a client's password. */
export type HashPassword = (site: Site) => Promise<RoutedSite["basicAuth"]>;

/**
 * @param instance Part of the salt, which stays the same for a site: a new hash would change the configuration, and
 * that interrupts connections. It reveals nothing about the password.
 */
export function passwordHasher(instance: string): HashPassword {
  const known = new Map<string, Promise<string>>();
  return async ({ id, basicAuth }) => {
    if (basicAuth === undefined) return undefined;
    const { username, password } = basicAuth;
    // A browser cannot send a name with a colon, and proxies refuse an empty one.
    if (username === "" || username.includes(":") || password === "" || /\p{C}/u.test(username)) return null;
    const salt = digest(instance, id, username).subarray(0, 16);
    const key = digest(instance, id, username, password).toString("hex");
    const hash = known.get(key) ?? hashed(password, salt);
    known.set(key, hash);
    return { username, passwordHash: await hash };
  };
}

/** Few sites have a password, so the library is loaded with the first one. */
async function hashed(password: string, salt: Buffer): Promise<string> {
  const { default: bcrypt } = await import("bcryptjs");
  return await bcrypt.hash(password, `$2a$${COST}$${bcrypt.encodeBase64([...salt], 16)}`);
}

const digest = (...parts: readonly string[]) => createHash("sha256").update(JSON.stringify(parts)).digest();
