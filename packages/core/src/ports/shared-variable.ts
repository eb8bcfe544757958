import type { SharedReference, SharedScope } from "../env/env-value.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A variable that is referenced as `{{ scope.KEY }}`. */
export interface SharedVariableRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  /** Unique within its owner. */
  readonly key: string;
  /** Decrypted, byte for byte. */
  readonly value: string | null;
  readonly is_multiline: boolean;
  readonly is_shown_once: boolean;
  readonly comment: string | null;
}
export type SharedVariableFields = Omit<SharedVariableRecord, "id" | "uuid" | "created_at" | "updated_at">;

/** Owner of a shared variable; `id` is that of the team, project, environment or server that the scope names. */
export interface SharedVariableOwner {
  readonly scope: SharedScope;
  readonly id: number;
}

/** A shared variable that a resource can use, or the URL of a database in its environment. */
export interface SeenVariable extends SharedReference {
  readonly resource_id: number;
  readonly value: string | null;
  readonly is_shown_once: boolean;
  /** For a database that the resource cannot reach: why, and what to do. The variable then has no value. */
  readonly problem?: string | undefined;
}

export interface SharedVariableStore {
  /** In a transaction: locks the owner until its end, so that other callers wait. `false` if it does not exist. */
  alone(owner: SharedVariableOwner): Promise<boolean>;
  /** Sorted by id. */
  list(owner: SharedVariableOwner, paging?: Paging): Promise<Page<SharedVariableRecord>>;
  findByKey(owner: SharedVariableOwner, key: string): Promise<SharedVariableRecord | undefined>;
  /** @throws DomainError `resource.already_exists` if the key is taken, `resource.not_found` without its owner. */
  insert(owner: SharedVariableOwner, uuid: string, fields: SharedVariableFields): Promise<SharedVariableRecord>;
  update(
    owner: SharedVariableOwner,
    uuid: string,
    change: Partial<SharedVariableFields>,
  ): Promise<SharedVariableRecord | undefined>;
  withKeys(owner: SharedVariableOwner, keys: readonly string[]): Promise<readonly SharedVariableRecord[]>;
  /** Inserts or updates variables by their uuid, in one statement. New ones are created in this order. */
  saveAll(
    owner: SharedVariableOwner,
    variables: readonly (SharedVariableFields & { readonly uuid: string })[],
  ): Promise<readonly SharedVariableRecord[]>;
  delete(owner: SharedVariableOwner, uuid: string): Promise<boolean>;
  /**
   * The targets of these references for each of these resources: in its team, project and so on. The URL of a
   * database has the address that works from the server and network of the resource.
   * @param serverId One of its several servers. Default: the server that is recorded with it.
   */
  seenBy(
    resourceIds: readonly number[],
    references: readonly SharedReference[],
    serverId?: number,
  ): Promise<readonly SeenVariable[]>;
}
