import { type ErrorCode, Message } from "@berth/core";
import {
  ClientRun,
  CreatedDatabase,
  DATABASE_CREATES,
  DATABASE_ENGINE_NAMES,
  Database,
  type DatabaseCreate,
  type DatabaseEngine,
  DatabaseStatements,
  DatabaseUpdate,
  databaseEngine,
} from "@berth/core/database";
import { z } from "zod";
import { attachments } from "./attachment.ts";
import { backups } from "./backup.ts";
import { creation } from "./creation.ts";
import { envs } from "./env.ts";
import { lifecycle } from "./lifecycle.ts";
import { listed, paging } from "./list.ts";
import { logs } from "./log.ts";
import { metrics } from "./metric.ts";
import { moves } from "./move.ts";
import { operation } from "./operation.ts";
import { restores } from "./restore.ts";
import { containers } from "./running-container.ts";
import { storages } from "./storage.ts";
import { resourceTags } from "./tag.ts";

const uuid = z.string().describe("The database's identifier.");

const createOf = <E extends DatabaseEngine>(engine: E) =>
  operation({
    ...creation,
    path: `/databases/${engine}`,
    operationId: `create-database-${engine}`,
    tag: "Databases",
    summary: `Create a database of ${databaseEngine(engine).title}`,
    description: "With `instant_deploy` it is started too; if that is not possible, nothing is created.",
    ability: "write",
    errors: [...creation.errors, "port.taken"] satisfies ErrorCode[],
  })
    .input(DATABASE_CREATES[engine])
    .output(CreatedDatabase)
    // The input of each engine is assignable to the union: engine fields are optional texts.
    .mutation(({ ctx, input }) => ctx.control.databases.create(engine, input as DatabaseCreate));

type Creates = { readonly [E in DatabaseEngine]: ReturnType<typeof createOf<E>> };

export const databases = {
  backups,
  restores,
  attachments: attachments.database,
  metrics: metrics.database,
  envs: envs.database,
  containers: containers.database,
  logs: logs.database,
  storages: storages.database,
  tags: resourceTags.database,
  ...lifecycle.database,
  ...moves.database,

  list: operation({
    method: "GET",
    path: "/databases",
    operationId: "list-databases",
    tag: "Databases",
    summary: "List databases",
    description: "With their backup schedules.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Database))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.databases.list(input), input)]),

  // Has one creation for each engine, as the type says.
  create: Object.fromEntries(DATABASE_ENGINE_NAMES.map((engine) => [engine, createOf(engine)])) as unknown as Creates,

  get: operation({
    method: "GET",
    path: "/databases/{uuid}",
    operationId: "get-database-by-uuid",
    tag: "Databases",
    summary: "Get a database",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Database)
    .query(({ ctx, input }) => ctx.control.databases.get(input.uuid)),

  client: operation({
    method: "POST",
    path: "/databases/{uuid}/client",
    operationId: "run-database-client-by-uuid",
    tag: "Databases",
    summary: "Run statements in a database by its own client",
    description:
      "Inside its container, with all rights in it: `psql`, `mysql`, `mariadb`, `redis-cli` or `keydb-cli` reads the " +
      "statements. Each call is a separate session. The answer has the output, also of a failure.",
    ability: "write",
    errors: [
      "auth.confirmation_required",
      "resource.not_running",
      "engine.unsupported",
      "engine.unreachable",
      "deploy.timeout",
    ],
  })
    .input(DatabaseStatements.extend({ uuid }))
    .output(ClientRun)
    .mutation(({ ctx, input: { uuid, ...sent }, signal }) => ctx.control.databaseClients.run(uuid, sent, signal)),

  update: operation({
    method: "PATCH",
    path: "/databases/{uuid}",
    operationId: "update-database-by-uuid",
    tag: "Databases",
    summary: "Change a database",
    description:
      "Omitted fields keep their values. Only fields of the database's own engine are accepted. Changes apply from its next " +
      "start on, those of its public port at once. Most engines set names and passwords only at the first " +
      "start, so change them inside the database too.",
    ability: "write",
    errors: ["port.taken"],
  })
    .input(DatabaseUpdate.extend({ uuid }))
    .output(Message)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.databases.update(uuid, change)),
};
