import type { ColumnType, Generated } from "kysely";

/** `jsonb`: read as a value, written as JSON text, since the driver would write an array as a PostgreSQL array. */
export type Json<T> = ColumnType<T, string, string>;
export type NullableJson<T> = ColumnType<T | null, string | null | undefined, string | null>;
/** Encrypted: see `cipher.ts`. */
export type Sealed = ColumnType<Uint8Array | null, Uint8Array | null | undefined, Uint8Array | null>;

export interface Timestamps {
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}
