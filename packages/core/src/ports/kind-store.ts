import type { KindFilter, Page, Paging } from "./records.ts";

/** What a resource of every kind is made with, beside what its kind adds. */
export interface NewResource {
  readonly uuid: string;
  readonly environment_id: number;
  readonly server_id: number;
  readonly destination_id: number;
  readonly name: string;
  readonly description: string | null;
}

/** What may change of a resource of every kind. What is left out stays. */
export interface ResourceChange<Settings, Secrets> {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** Merged into the stored ones, key by key. */
  readonly settings?: Partial<Settings> | undefined;
  readonly secrets?: Partial<Secrets> | undefined;
}

/** What a store of every kind can do. */
export interface KindStore<Resource, Fresh extends NewResource, Change, Secrets> {
  list(filter: KindFilter & { readonly tag?: string | undefined }, paging?: Paging): Promise<Page<Resource>>;
  find(uuid: string): Promise<Resource | undefined>;
  /** @throws DomainError `resource.not_found` when the place, or what it refers to, is another team's */
  insert(resource: Fresh): Promise<Resource>;
  /** Holds the resource's row until the transaction ends, so that changes of one resource follow one another. */
  update(id: number, change: Change): Promise<Resource | undefined>;
  /** @throws DomainError `resource.not_found` */
  secrets(id: number): Promise<Secrets>;
  /** Of several at once, by id. */
  secretsOf(ids: readonly number[]): Promise<ReadonlyMap<number, Secrets>>;
}
