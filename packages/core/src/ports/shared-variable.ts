import type { SharedReference, SharedScope } from "../env/env-value.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A variable that others refer to as `{{ scope.KEY }}`. */
export interface SharedVariableRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  /** Once with its owner. */
  readonly key: string;
  /** Decrypted, byte for byte. */
  readonly value: string | null;
  readonly is_multiline: boolean;
  readonly is_shown_once: boolean;
  readonly comment: string | null;
}
export type SharedVariableFields = Omit<SharedVariableRecord, "id" | "uuid" | "created_at" | "updated_at">;

/** Whose it is: with `id` of the team, project, environment or server that the scope names. */
export interface SharedVariableOwner {
  readonly scope: SharedScope;
  readonly id: number;
}

/** One that a resource sees, or the URL of a database of its environment. */
export interface SeenVariable extends SharedReference {
  readonly resource_id: number;
  readonly value: string | null;
  readonly is_shown_once: boolean;
  /** Of a database that the resource cannot reach: why, and what to do. It has no value then. */
  readonly problem?: string | undefined;
}

export interface SharedVariableStore {
  /** In a transaction: until its end, others who ask so for the same owner wait. `false` when there is none such. */
  alone(owner: SharedVariableOwner): Promise<boolean>;
  /** By id. */
  list(owner: SharedVariableOwner, paging?: Paging): Promise<Page<SharedVariableRecord>>;
  findByKey(owner: SharedVariableOwner, key: string): Promise<SharedVariableRecord | undefined>;
  /** @throws DomainError `resource.already_exists` when the key is taken, `resource.not_found` without its owner. */
  insert(owner: SharedVariableOwner, uuid: string, fields: SharedVariableFields): Promise<SharedVariableRecord>;
  update(
    owner: SharedVariableOwner,
    uuid: string,
    change: Partial<SharedVariableFields>,
  ): Promise<SharedVariableRecord | undefined>;
  delete(owner: SharedVariableOwner, uuid: string): Promise<boolean>;
  /**
   * Which of these references lead to something, from each of these resources: by its team, project and so on. A
   * database's URL has the address that works from the server and network of the resource.
   */
  seenBy(resourceIds: readonly number[], references: readonly SharedReference[]): Promise<readonly SeenVariable[]>;
}
