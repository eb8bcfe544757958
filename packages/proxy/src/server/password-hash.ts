import { createHash } from "node:crypto";
import type { Site } from "@berth/core/ports";
import bcrypt from "bcryptjs";
import type { RoutedSite } from "./routed-site.ts";

const COST = 10; // OWASP's least; 60 ms.

/** Hashes passwords of sites, each once. bcrypt reads 72 bytes of one, of what a client sends as well. */
export type HashPassword = (site: Site) => Promise<RoutedSite["basicAuth"]>;

/**
 * @param instance Part of the salt. It is the same for a site each time: another hash would be another configuration,
 * and a change of that cuts clients off. It says nothing of the password.
 */
export function passwordHasher(instance: string): HashPassword {
  const known = new Map<string, Promise<string>>();
  return async ({ id, basicAuth }) => {
    if (basicAuth === undefined) return undefined;
    const { username, password } = basicAuth;
    // Nobody can enter a name with a colon, and no proxy takes an empty one.
    if (username === "" || username.includes(":") || password === "" || /\p{C}/u.test(username)) return null;
    const salt = digest(instance, id, username).subarray(0, 16);
    const key = digest(instance, id, username, password).toString("hex");
    const hash = known.get(key) ?? bcrypt.hash(password, `$2a$${COST}$${bcrypt.encodeBase64([...salt], 16)}`);
    known.set(key, hash);
    return { username, passwordHash: await hash };
  };
}

const digest = (...parts: readonly string[]) => createHash("sha256").update(JSON.stringify(parts)).digest();
