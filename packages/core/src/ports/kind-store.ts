import type { KindFilter, Page, Paging } from "./records.ts";

/** Fields of a new resource, common to all kinds. */
export interface NewResource {
  readonly uuid: string;
  readonly environment_id: number;
  readonly server_id: number;
  readonly destination_id: number;
  readonly name: string;
  readonly description: string | null;
}

/** Changes of a resource, common to all kinds. Omitted fields keep their values. */
export interface ResourceChange<Settings, Secrets> {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  /** Merged into the stored settings, key by key. */
  readonly settings?: Partial<Settings> | undefined;
  readonly secrets?: Partial<Secrets> | undefined;
}

/** Store functions that every kind has. */
export interface KindStore<Resource, Fresh extends NewResource, Change, Secrets> {
  list(filter: KindFilter & { readonly tag?: string | undefined }, paging?: Paging): Promise<Page<Resource>>;
  find(uuid: string): Promise<Resource | undefined>;
  /** @throws DomainError `resource.not_found` if the place, or an object it refers to, belongs to another team */
  insert(resource: Fresh): Promise<Resource>;
  /** Locks the resource's row until the transaction ends, so that its changes are serialised. */
  update(id: number, change: Change): Promise<Resource | undefined>;
  /** @throws DomainError `resource.not_found` */
  secrets(id: number): Promise<Secrets>;
  /** Secrets of several resources, by id. */
  secretsOf(ids: readonly number[]): Promise<ReadonlyMap<number, Secrets>>;
}
