import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { DomainError } from "@berth/core";
import type { PasswordHasher } from "@berth/core/ports";
import pLimit from "p-limit";

const derive = promisify(argon2);

/** OWASP's recommendation for argon2id: 37 ms on a slow core. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const SALT_BYTES = 16;
/** Each hash needs 19 MiB. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 40;

const STORED = /^argon2id\$(?<memory>\d+)\$(?<passes>\d+)\$(?<salt>[\w-]+)\$(?<hash>[\w-]+)$/;

/** Hashes with argon2id in Node's thread pool. */
export function passwordHasher(): PasswordHasher {
  const limit = pLimit(AT_ONCE_MAX);
  // Used for users without a password, so that the check takes as long.
  const nobody = { ...PARAMETERS, nonce: randomBytes(SALT_BYTES) };

  function run(
    password: string,
    parameters: Parameters<typeof derive>[1] extends infer P ? Omit<P, "message"> : never,
  ) {
    if (limit.pendingCount >= WAITING_MAX) {
      const message = "Too many sign-ins are under way. Try again in a few seconds.";
      throw new DomainError("request.overloaded", message, { retryAfterSeconds: 5 });
    }
    return limit(() => derive("argon2id", { ...parameters, message: password }));
  }

  return {
    async hash(password) {
      const nonce = randomBytes(SALT_BYTES);
      const derived = await run(password, { ...PARAMETERS, nonce });
      const { memory, passes } = PARAMETERS;
      return ["argon2id", memory, passes, nonce.toString("base64url"), derived.toString("base64url")].join("$");
    },
    async verify(password, stored) {
      const { memory, passes, salt, hash } = stored?.match(STORED)?.groups ?? {};
      if (salt === undefined || hash === undefined) {
        await run(password, nobody);
        return false;
      }
      const nonce = Buffer.from(salt, "base64url");
      const expected = Buffer.from(hash, "base64url");
      const parameters = { ...PARAMETERS, memory: Number(memory), passes: Number(passes), tagLength: expected.length };
      return timingSafeEqual(await run(password, { ...parameters, nonce }), expected);
    },
  };
}
