import { createHash } from "node:crypto";
import type { PasswordHasher } from "@berth/core/ports";

const hashOf = (password: string) => createHash("sha256").update(password).digest("hex");

/** A fast hasher, for suites that do not test hashing. */
export const testPasswords: PasswordHasher = {
  hash: async (password) => hashOf(password),
  verify: async (password, hash) => hash === hashOf(password),
};
