import type { ResourceKind } from "@berth/core/resource";
import { client, trpc } from "../api/client.ts";
import { plurals } from "./kinds.ts";

type Shared = "envs" | "logs" | "storages" | "tags" | "start" | "restart" | "stop" | "delete";

// The kinds share these operations: inputs and answers that the page uses are the same for all of them, as `perKind`
// of packages/api makes them. TypeScript cannot call a union of overloads, so one kind's types stand for all.
export const queriesOf = (kind: ResourceKind) =>
  trpc[plurals[kind]] as unknown as Pick<typeof trpc.applications, Shared>;
export const callsOf = (kind: ResourceKind) =>
  client[plurals[kind]] as unknown as Pick<typeof client.applications, Shared>;

/** The kinds that run tasks of their own. */
export type KindWithTasks = "application" | "service";
export const hasTasks = (kind: ResourceKind): kind is KindWithTasks => kind !== "database";
export const taskQueriesOf = (kind: KindWithTasks) =>
  trpc[plurals[kind]].scheduledTasks as unknown as typeof trpc.applications.scheduledTasks;
export const taskCallsOf = (kind: KindWithTasks) =>
  client[plurals[kind]].scheduledTasks as unknown as typeof client.applications.scheduledTasks;

type List = typeof trpc.deployments.listByApplication;
// The same answer under other names.
const DEPLOYMENTS: Readonly<Record<ResourceKind, List>> = {
  application: trpc.deployments.listByApplication,
  service: trpc.deployments.listByService as unknown as List,
  database: trpc.deployments.listByDatabase as unknown as List,
};

export const deploymentsOf = (kind: ResourceKind, uuid: string, take: number) =>
  DEPLOYMENTS[kind].queryOptions({ uuid, take });
