import type { ServiceContainerKind, ServiceSecrets, ServiceSettings } from "../service/service.ts";
import type { KindStore, NewResource, ResourceChange } from "./kind-store.ts";
import type { Placement, ResourceRecord, Timestamps } from "./records.ts";

export interface ServiceRecord extends ResourceRecord {
  readonly placement: Placement;
  /** Key of the template; `null` unless it is a one-click service. */
  readonly service_type: string | null;
  readonly settings: ServiceSettings;
  readonly last_online_at: Date | null;
}

/** One entry of `services` in the compose text of a service. */
export interface ServiceContainerRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly resource_id: number;
  readonly kind: ServiceContainerKind;
  /** Its key in the compose text. */
  readonly name: string;
  readonly human_name: string | null;
  readonly description: string | null;
  readonly image: string | null;
  /** Comma-separated URLs. Written together with the claims in the table `domain`, which decide who holds one. */
  readonly fqdn: string | null;
  readonly ports: string | null;
  readonly exposes: string | null;
  /** `state:health`, as last observed. */
  readonly status: string;
  readonly exclude_from_status: boolean;
  /** Where it listens for requests whose URL names no port. */
  readonly port: number | null;
  readonly last_online_at: Date | null;
}

export type ServiceContainerFields = Pick<
  ServiceContainerRecord,
  "kind" | "name" | "image" | "ports" | "exposes" | "exclude_from_status" | "port"
>;

export interface NewService extends NewResource {
  readonly service_type: string | null;
  readonly settings: ServiceSettings;
  readonly secrets: ServiceSecrets;
}

export interface ServiceStore
  extends KindStore<ServiceRecord, NewService, ResourceChange<ServiceSettings, ServiceSecrets>, ServiceSecrets> {
  /** Containers of these services, each in the order of its compose file. */
  containers(ids: readonly number[]): Promise<readonly ServiceContainerRecord[]>;
  findContainer(uuid: string): Promise<ServiceContainerRecord | undefined>;
  /** Makes the service's containers these: those with a known name are changed, others are added, the rest goes. */
  saveContainers(
    id: number,
    containers: readonly (ServiceContainerFields & { /** Of a new one. */ readonly uuid: string })[],
  ): Promise<readonly ServiceContainerRecord[]>;
}

/** The worker's store of services, across teams. */
export interface SystemServiceStore {
  /**
   * What was observed of its containers, by their names, and of all of them together. Written, and reported, only where
   * it changed.
   */
  setStatuses(id: number, status: string, containers: Readonly<Record<string, string>>): Promise<void>;
}
