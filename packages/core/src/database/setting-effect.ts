import { DATABASE_ENGINE_NAMES, engineFields } from "./database-engine.ts";
import type { DatabaseUpdate } from "./database-input.ts";

/** Fields of a database that take effect at once. */
const AT_ONCE = {
  name: true,
  description: true,
  is_public: true,
  public_port: true,
  instant_deploy: true,
} as const satisfies Partial<Record<keyof DatabaseUpdate, true>>;

/** Fields of a database that its URLs contain, besides those of its engine that do. */
const IN_URL = {
  is_public: true,
  public_port: true,
  enable_ssl: true,
} as const satisfies Partial<Record<keyof DatabaseUpdate, true>>;

const LOGIN_FIELDS = new Set(
  DATABASE_ENGINE_NAMES.flatMap((engine) =>
    engineFields(engine).flatMap(([name, { type }]) => (type === "identifier" || type === "password" ? [name] : [])),
  ),
);

/** Whether a changed field of a database takes effect with its next start only. */
export const needsDatabaseRestart = (field: string): boolean => !Object.hasOwn(AT_ONCE, field);

/** Whether what refers to the database gets another URL with its next deployment. */
export const changesDatabaseUrl = (field: string): boolean =>
  Object.hasOwn(IN_URL, field) || LOGIN_FIELDS.has(field as never);
