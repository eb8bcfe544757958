import type { ResourceRecord, Stores } from "@berth/core/ports";

/** Changes of a resource by use cases; its stores emit the events of its lifecycle themselves. */
type ResourceChange =
  | "resource.updated"
  | "resource.moved"
  | "resource.destinations_changed"
  | "resource.migrated"
  | "resource.variables_changed"
  | "resource.source_uploaded"
  | "resource.storages_changed"
  | "resource.scheduled_tasks_changed"
  | "resource.tags_changed"
  | "resource.backups_changed"
  | "resource.backup_downloaded"
  | "resource.restore_requested"
  | "resource.start_requested"
  | "resource.restart_requested"
  | "resource.stop_requested";

/** Must run in the transaction of the change. @param details Never secrets. */
export const emitResourceEvent = (
  tx: Stores,
  { uuid, kind, name }: Pick<ResourceRecord, "uuid" | "kind" | "name">,
  type: ResourceChange,
  details: Readonly<Record<string, unknown>> = {},
): Promise<void> =>
  tx.events.append({
    type,
    resource_uuid: uuid,
    payload: { resource_kind: kind, resource_name: name, ...details },
  });
