import type { ServerFacts } from "@berth/core/ports";
import type { CloudProviderKind, EngineKind, ProxyStatus, ServerSettings } from "@berth/core/server";
import type { ColumnType, Generated, GeneratedAlways } from "kysely";
import type { Json, Timestamps } from "./column.ts";

export interface ServerTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  ip: string;
  port: number;
  user: string;
  private_key_id: number | null;
  engine: EngineKind;
  proxy_type: string;
  is_proxy_stopped: Generated<boolean>;
  proxy_status: ColumnType<ProxyStatus | null, ProxyStatus | null | undefined, ProxyStatus | null>;
  proxy_problem: ColumnType<string | null, string | null | undefined, string | null>;
  /** Encrypted JSON. */
  log_drain_secrets: Uint8Array | null;
  log_drain_problem: string | null;
  settings: Json<Partial<ServerSettings>>;
  ip_previous: string | null;
  is_validating: Generated<boolean>;
  validation_logs: string | null;
  removing_at: Date | null;
  cloud_provider_token_id: number | null;
  /** The provider's number of the rented machine. */
  hetzner_server_id: number | null;
  host_key: string | null;
  /** Identity of its Docker engine, as that reports it. */
  engine_id: string | null;
  swarm_cluster_id: string | null;
  swarm_node_id: string | null;
  /** Node ids of the managers that its node is connected to. */
  swarm_manager_ids: Generated<string[]>;
  unreachable_count: Generated<number>;
  probes: Generated<number>;
  is_disk_usage_high: Generated<boolean>;
  server_metadata: ColumnType<ServerFacts | null, string | null | undefined, string | null>;
  /** Incremented by each update. */
  revision: GeneratedAlways<number>;
}

export interface LogDrainResourceTable {
  server_id: number;
  resource_id: number;
  since: Generated<Date>;
}

export interface LogDrainPositionTable {
  deployment_id: number;
  cursor: string;
}

export interface CloudTokenTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  provider: CloudProviderKind;
  name: string;
  token: ColumnType<Uint8Array, Uint8Array, never>;
}

export interface DestinationTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  server_id: number;
  name: string;
  network: string;
}

export interface RegistryTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  address: string;
  username: string;
  password: Uint8Array;
}

export interface MetricTable {
  resource_id: number;
  at: Date;
  deployment_uuid: string;
  cpu_percent: number | null;
  memory_bytes: number;
  processes: number;
  network_received_bytes: number | null;
  network_sent_bytes: number | null;
  disk_read_bytes: number | null;
  disk_written_bytes: number | null;
  requests_per_second: number | null;
}
