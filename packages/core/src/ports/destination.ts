import type { EngineKind } from "../server/server-settings.ts";
import type { NamedResource, Page, Paging, Timestamps } from "./records.ts";

export interface DestinationRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly server_id: number;
  readonly server_uuid: string;
  readonly server_engine: EngineKind;
  readonly name: string;
  readonly network: string;
}

export interface DestinationStore {
  /** Destinations of all servers or of one, sorted by id. */
  list(filter: { readonly server_id?: number | undefined }, paging?: Paging): Promise<Page<DestinationRecord>>;
  find(uuid: string): Promise<DestinationRecord | undefined>;
  /**
   * @throws DomainError `resource.not_found` if the server does not exist or is being deleted;
   * `resource.already_exists` if it has a destination with this network
   */
  insert(destination: {
    readonly uuid: string;
    readonly server_id: number;
    readonly name: string;
    readonly network: string;
  }): Promise<DestinationRecord>;
  update(uuid: string, change: { readonly name: string }): Promise<DestinationRecord | undefined>;
  /** At most `take` of the resources on it. */
  users(id: number, take: number): Promise<readonly NamedResource[]>;
  /** `false` if resources use it. */
  deleteIfUnused(id: number): Promise<boolean>;
}
