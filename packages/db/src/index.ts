export { type Cipher, cipher, loadKeyFile } from "./cipher.ts";
export { type Database, type DatabaseKind, type DatabaseOptions, openDatabase } from "./client.ts";
export type { StoreDependencies } from "./context.ts";
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "./embedded/embedded-postgres.ts";
export { requireKey } from "./key-check.ts";
export { migrate } from "./migrate.ts";
export { limitReads } from "./read-limit.ts";
export { addKey, reencrypt } from "./reencrypt.ts";
export { stores, systemStores } from "./scope.ts";
export { authenticator } from "./token.ts";
