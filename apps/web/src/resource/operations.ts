import type { ResourceKind } from "@berth/core/resource";
import { client, trpc } from "../api/client.ts";
import { plurals } from "./kinds.ts";

type Shared =
  | "attachments"
  | "envs"
  | "logs"
  | "storages"
  | "tags"
  | "metrics"
  | "start"
  | "restart"
  | "stop"
  | "move"
  | "delete";

// All kinds have these operations with the same inputs and answers, made by `perKind` of packages/api. TypeScript
// cannot call a union of overloads, so the types of one kind are used for all.
export const queriesOf = (kind: ResourceKind) =>
  trpc[plurals[kind]] as unknown as Pick<typeof trpc.applications, Shared>;
export const callsOf = (kind: ResourceKind) =>
  client[plurals[kind]] as unknown as Pick<typeof client.applications, Shared>;

/** Kinds with scheduled tasks. */
export type KindWithTasks = "application" | "service";
export const hasTasks = (kind: ResourceKind): kind is KindWithTasks => kind !== "database";
export const taskQueriesOf = (kind: KindWithTasks) =>
  trpc[plurals[kind]].scheduledTasks as unknown as typeof trpc.applications.scheduledTasks;
export const taskCallsOf = (kind: KindWithTasks) =>
  client[plurals[kind]].scheduledTasks as unknown as typeof client.applications.scheduledTasks;

type List = typeof trpc.deployments.listByApplication;
// The same answer under different operation names.
const DEPLOYMENTS: Readonly<Record<ResourceKind, List>> = {
  application: trpc.deployments.listByApplication,
  service: trpc.deployments.listByService as unknown as List,
  database: trpc.deployments.listByDatabase as unknown as List,
};

export const deploymentsOf = (kind: ResourceKind, uuid: string, take: number) =>
  DEPLOYMENTS[kind].queryOptions({ uuid, take });
