import type { DatabaseSettings } from "../database.ts";
import type { DatabaseEngine } from "../database-engine.ts";
import type { KindFilter, Page, Paging, Placement, ResourceRecord } from "./records.ts";

export interface DatabaseRecord extends ResourceRecord {
  readonly placement: Placement;
  readonly engine: DatabaseEngine;
  readonly is_public: boolean;
  /** Of the server, while it is public. */
  readonly public_port: number | null;
  readonly settings: DatabaseSettings;
  /** The engine's own fields that are no secrets, by name. */
  readonly fields: DatabaseFields;
  readonly restart_count: number;
  readonly last_restart_at: Date | null;
  readonly last_online_at: Date | null;
  readonly started_at: Date | null;
}

export type DatabaseFields = Readonly<Record<string, string | null>>;
/** The engine's passwords, by the name of their field; without those that are environment variables. */
export type DatabaseSecrets = Readonly<Record<string, string>>;

/** Reaching it from outside its server. */
export interface DatabaseAccess {
  readonly is_public: boolean;
  readonly public_port: number | null;
}

export interface DatabaseStore {
  list(filter: KindFilter, paging?: Paging): Promise<Page<DatabaseRecord>>;
  find(uuid: string): Promise<DatabaseRecord | undefined>;
  /** @throws DomainError `port.taken` when another public database of the server has the port */
  insert(
    database: {
      readonly uuid: string;
      readonly environment_id: number;
      readonly server_id: number;
      readonly destination_id: number;
      readonly name: string;
      readonly description: string | null;
      readonly engine: DatabaseEngine;
      readonly settings: DatabaseSettings;
      readonly fields: DatabaseFields;
      readonly secrets: DatabaseSecrets;
    } & DatabaseAccess,
  ): Promise<DatabaseRecord>;
  /** What is not given stays. @throws DomainError `port.taken` */
  update(
    id: number,
    change: {
      readonly name?: string | undefined;
      readonly description?: string | null | undefined;
      readonly settings?: Partial<DatabaseSettings> | undefined;
      readonly fields?: DatabaseFields | undefined;
      readonly secrets?: DatabaseSecrets | undefined;
      readonly access?: DatabaseAccess | undefined;
    },
  ): Promise<DatabaseRecord | undefined>;
  /** Of several at once, by id. */
  secretsOf(ids: readonly number[]): Promise<ReadonlyMap<number, DatabaseSecrets>>;
}
