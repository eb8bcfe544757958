import type { Page, Paging, Timestamps } from "./records.ts";

export interface TagRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  /** Lower case; once in a team. */
  readonly name: string;
}

/** A tag shows as long as a resource has it. */
export interface TagStore {
  /** Tags of the team, by name. */
  list(paging?: Paging): Promise<Page<TagRecord>>;
  /** By name. */
  listByResource(resourceId: number, paging?: Paging): Promise<Page<TagRecord>>;
  /**
   * Gives the resource these tags beside those it has. One whose name the team knows is that one, whatever uuid comes
   * with it here.
   */
  attach(resourceId: number, tags: readonly Pick<TagRecord, "uuid" | "name">[]): Promise<void>;
  /** `false` when the resource has no such tag. */
  detach(resourceId: number, uuid: string): Promise<boolean>;
}
