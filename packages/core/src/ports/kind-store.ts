import type { KindFilter, Page, Paging } from "./records.ts";

/** Fields of a new resource of every kind. */
export interface NewResource {
  readonly uuid: string;
  readonly environment_id: number;
  readonly server_id: number;
  readonly destination_id: number;
  readonly name: string;
  readonly description: string | null;
}

/** Change of a resource of every kind. Omitted fields keep their values. */
export interface ResourceChange<Settings, Secrets> {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** Merged into the stored ones, key by key. */
  readonly settings?: Partial<Settings> | undefined;
  readonly secrets?: Partial<Secrets> | undefined;
}

/** Store functions of every kind. */
export interface KindStore<Resource, Fresh extends NewResource, Change, Secrets> {
  list(filter: KindFilter & { readonly tag?: string | undefined }, paging?: Paging): Promise<Page<Resource>>;
  find(uuid: string): Promise<Resource | undefined>;
  /** @throws DomainError `resource.not_found` when the place, or what it refers to, is another team's */
  insert(resource: Fresh): Promise<Resource>;
  /** Holds the resource's row until the transaction ends, so that changes of one resource follow one another. */
  update(id: number, change: Change): Promise<Resource | undefined>;
  /** @throws DomainError `resource.not_found` */
  secrets(id: number): Promise<Secrets>;
  /** Secrets of several at once, by id. */
  secretsOf(ids: readonly number[]): Promise<ReadonlyMap<number, Secrets>>;
}
