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
  /** Port of the server that only what runs on the same machine reaches: for applications that are no containers. */
  readonly loopback_port: number | null;
  /** Why the port does not lead to it, as was seen last. */
  readonly public_port_problem: string | null;
  readonly settings: DatabaseSettings;
  /** The engine's own fields that are no secrets, by name. */
  readonly fields: DatabaseFields;
  readonly restart_count: number;
  readonly last_restart_at: Date | null;
  readonly last_online_at: Date | null;
  readonly started_at: Date | null;
  /** Expiry of its certificate, where it offers TLS. */
  readonly certificate_expires_at: Date | null;
}

export type DatabaseFields = Readonly<Record<string, string | null>>;
/** The engine's secret fields, by their name, without those that are environment variables; and its certificate. */
export type DatabaseSecrets = Readonly<Record<string, string>>;

/** Reaching it from outside its server. */
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
  /** Tells once of each database that offers TLS with a certificate that ends before this. Answers how many. */
  emitExpiring(before: Date): Promise<number>;
  /** Those of these servers that have a port while they run, public or for their own machine. */
  listForwarded(serverIds: readonly number[]): Promise<readonly DatabaseRecord[]>;
  /** Records a problem of its public port; `null` when there is none. @param port The port that was observed. */
  recordPortProblem(id: number, port: number, problem: string | null): Promise<void>;
}

/** Where something runs that wants to reach a database. */
export interface DatabaseClient {
  readonly name: string;
  readonly server_id: number;
  readonly destination_id: number;
  readonly server_name: string;
  readonly server_engine: EngineKind;
  /** Its containers are in the network of its destination. */
  readonly is_in_network: boolean;
}

/** A database, and what of its environment may name it in variables. */
export interface NamedDatabase {
  readonly resource_id: number;
  readonly client: DatabaseClient;
  readonly database: DatabaseRecord;
  /** Its secret fields by name, open. */
  readonly secrets: DatabaseFields;
  /** Its password is never shown. */
  readonly is_shown_once: boolean;
}

/** `insert` and `update` throw `port.taken` when another public database of the server has the port. */
export type DatabaseStore = KindStore<DatabaseRecord, NewDatabase, DatabaseRecordChange, DatabaseSecrets> & {
  /** Gives it a loopback port, unless it has one that leads to it, and wakes the workers. */
  giveLoopbackPort(id: number): Promise<void>;
  /** Those of these names or uuids, as each of these resources sees them: of its environment. */
  namedBy(resourceIds: readonly number[], names: readonly string[]): Promise<readonly NamedDatabase[]>;
};
