import type { Page, Paging, ResourceRecord, Timestamps } from "./records.ts";

export interface TagRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  /** In lower case; unique within a team. */
  readonly name: string;
}

/** A tag exists as long as a resource has it. */
export interface TagStore {
  /** Tags of the team, by name. */
  list(paging?: Paging): Promise<Page<TagRecord>>;
  /** By name. */
  listByResource(resourceId: number, paging?: Paging): Promise<Page<TagRecord>>;
  /** The resources that have a tag, in the order in which they were made. */
  resources(name: string): Promise<readonly ResourceRecord[]>;
  /** Adds tags to the resource. For an existing name the team's tag is used, and its `uuid` here is ignored. */
  attach(resourceId: number, tags: readonly Pick<TagRecord, "uuid" | "name">[]): Promise<void>;
  /** `false` if the resource has no such tag. */
  detach(resourceId: number, uuid: string): Promise<boolean>;
}
