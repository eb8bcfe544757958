import type { DatabaseSettings } from "../database/database.ts";
import type { DatabaseEngine } from "../database/database-engine.ts";
import type { EngineKind } from "../server/server-settings.ts";
import type { KindStore, NewResource, ResourceChange } from "./kind-store.ts";
import type { Placement, ResourceRecord } from "./records.ts";

export interface DatabaseRecord extends ResourceRecord {
  readonly placement: Placement;
  readonly engine: DatabaseEngine;
  readonly is_public: boolean;
  /** Port of the server while the database is public. */
  readonly public_port: number | null;
  /** Port of the server that only programs on the same machine reach: for applications without containers. */
  readonly loopback_port: number | null;
  /** Why the public port does not work, as last observed. */
  readonly public_port_problem: string | null;
  readonly settings: DatabaseSettings;
  /** The engine's own fields that are not secret, by name. */
  readonly fields: DatabaseFields;
  readonly restart_count: number;
  readonly last_restart_at: Date | null;
  readonly last_online_at: Date | null;
  readonly started_at: Date | null;
  /** End of its certificate, if it offers TLS. */
  readonly certificate_expires_at: Date | null;
}

export type DatabaseFields = Readonly<Record<string, string | null>>;
/** The engine's secret fields by name, except those stored as environment variables; and the certificate. */
export type DatabaseSecrets = Readonly<Record<string, string>>;

/** Public access to a database. */
export interface DatabaseAccess {
  readonly is_public: boolean;
  readonly public_port: number | null;
}

export interface NewDatabase extends NewResource, DatabaseAccess {
  readonly engine: DatabaseEngine;
  readonly settings: DatabaseSettings;
  readonly fields: DatabaseFields;
  readonly secrets: DatabaseSecrets;
}

export interface DatabaseRecordChange extends ResourceChange<DatabaseSettings, DatabaseSecrets> {
  readonly fields?: DatabaseFields | undefined;
  readonly access?: DatabaseAccess | undefined;
  readonly certificate_expires_at?: Date | undefined;
}

export interface SystemDatabaseStore {
  /** Emits one event for each database with TLS whose certificate ends before this. Returns their number. */
  emitExpiring(before: Date): Promise<number>;
  /** Databases of these servers that have a public or loopback port while they run. */
  listForwarded(serverIds: readonly number[]): Promise<readonly DatabaseRecord[]>;
  /** Records a problem of the public port; `null` without one. @param port The observed port. */
  recordPortProblem(id: number, port: number, problem: string | null): Promise<void>;
}

/** The place of a program that connects to a database. */
export interface DatabaseClient {
  readonly name: string;
  readonly server_id: number;
  readonly destination_id: number;
  readonly server_name: string;
  readonly server_engine: EngineKind;
  /** It is in the network of its destination. */
  readonly is_in_network: boolean;
}

/** A database, and the resource whose variables reference it. */
export interface NamedDatabase {
  readonly resource_id: number;
  readonly client: DatabaseClient;
  readonly database: DatabaseRecord;
  /** Its secret fields by name, decrypted. */
  readonly secrets: DatabaseFields;
  /** Its password is never shown. */
  readonly is_shown_once: boolean;
}

/** `insert` and `update` throw `port.taken` if another public database of the server has the port. */
export type DatabaseStore = KindStore<DatabaseRecord, NewDatabase, DatabaseRecordChange, DatabaseSecrets> & {
  /** Assigns a loopback port, unless the database has a working one, and wakes the workers. */
  giveLoopbackPort(id: number): Promise<void>;
  /**
   * Databases with these names or uuids in the environment of each resource.
   * @param serverId Which of its several servers each resource is on. Default: the primary one.
   */
  namedBy(
    resourceIds: readonly number[],
    names: readonly string[],
    serverId?: number,
  ): Promise<readonly NamedDatabase[]>;
};
