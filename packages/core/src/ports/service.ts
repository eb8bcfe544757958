import type { ServiceContainerKind, ServiceSecrets, ServiceSettings } from "../service/service.ts";
import type { KindStore, NewResource, ResourceChange } from "./kind-store.ts";
import type { Placement, ResourceRecord, Timestamps } from "./records.ts";

export interface ServiceRecord extends ResourceRecord {
  readonly placement: Placement;
  /** Key of the template; `null` for a service from a compose file. */
  readonly service_type: string | null;
  readonly settings: ServiceSettings;
  readonly last_online_at: Date | null;
}

/** One entry of `services` in the compose file of a service. */
export interface ServiceContainerRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly resource_id: number;
  readonly kind: ServiceContainerKind;
  /** Its key in the compose file. */
  readonly name: string;
  readonly human_name: string | null;
  readonly description: string | null;
  readonly image: string | null;
  /** Comma-separated URLs. Written together with the claims in the table `domain`, which decide who has a URL. */
  readonly fqdn: string | null;
  readonly ports: string | null;
  readonly exposes: string | null;
  /** `state:health`, as last observed. */
  readonly status: string;
  readonly exclude_from_status: boolean;
  /** Port for requests whose URL names none. */
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
  /** Containers of several services, each in the order of its compose file. */
  containers(ids: readonly number[]): Promise<readonly ServiceContainerRecord[]>;
  findContainer(uuid: string): Promise<ServiceContainerRecord | undefined>;
  /** Replaces the service's containers: those with a known name are changed, others are added, the rest is deleted. */
  saveContainers(
    id: number,
    containers: readonly (ServiceContainerFields & { /** For a new container. */ readonly uuid: string })[],
  ): Promise<readonly ServiceContainerRecord[]>;
}

/** The worker's store of services, across teams. */
export interface SystemServiceStore {
  /** Records observed statuses of a service and its containers, by name. Only changes are written and reported. */
  setStatuses(
    id: number,
    seen: {
      readonly status: string;
      readonly containers: Readonly<Record<string, string>>;
      /** Why it cannot run. Default: nothing is known. */
      readonly problem?: string | null;
      /** Nothing is recorded if the service's status is another one by now. Default: any status is replaced. */
      readonly replaces?: string;
    },
  ): Promise<void>;
}
