import { DomainError } from "@berth/core";
import type { ServerRecord, ServerStore, SystemServerStore } from "@berth/core/ports";
import { ENGINES, type JobType, ServerSettings } from "@berth/core/server";
import type { EventType } from "@berth/core/team";
import { type Selectable, sql } from "kysely";
import { emit, inTransaction, isId, type StoreContext, type TeamContext, undefinedOn, wakeWorkers } from "./context.ts";
import { isForeignKeyViolation, violates } from "./errors.ts";
import { systemJobStore } from "./job.ts";
import { endJobs, isAbout } from "./job-row.ts";
import { countRows, page, within } from "./page.ts";
import { pick } from "./pick.ts";
import type { DB } from "./schema.ts";
import { changeEngine, clusterRecords, nodeFields, SWARM_CLUSTER } from "./server-cluster.ts";
import { storable, storableJson } from "./storable.ts";

const COLUMNS = [
  "id",
  "uuid",
  "team_id",
  "name",
  "description",
  "ip",
  "port",
  "user",
  "engine",
  "proxy_type",
  "is_proxy_stopped",
  "proxy_status",
  "proxy_problem",
  "log_drain_problem",
  "settings",
  "private_key_id",
  "ip_previous",
  "is_validating",
  "validation_logs",
  "removing_at",
  "cloud_provider_token_id",
  "hetzner_server_id",
  "host_key",
  "unreachable_count",
  "probes",
  "is_disk_usage_high",
  "server_metadata",
  "swarm_cluster_id",
  "swarm_node_id",
  "revision",
  "created_at",
  "updated_at",
] as const;
const FIELDS = [
  "name",
  "description",
  "ip",
  "port",
  "user",
  "engine",
  "proxy_type",
  "is_proxy_stopped",
  "proxy_status",
  "proxy_problem",
  "private_key_id",
  "ip_previous",
  "is_validating",
  "validation_logs",
  "host_key",
  "unreachable_count",
  "probes",
] as const;
const RENTED_FIELDS = ["cloud_provider_token_id", "hetzner_server_id"] as const;

// Settings added after a row was written read as their default.
const DEFAULTS = ServerSettings.parse({});
const SELECTED = [...COLUMNS, SWARM_CLUSTER.as("swarm_cluster")] as const;
/** What `SELECTED` reads. */
type ServerRow = Pick<Selectable<DB["server"]>, (typeof COLUMNS)[number]> & Pick<ServerRecord, "swarm_cluster">;

const record = (row: ServerRow): ServerRecord => ({
  ...row,
  settings: { ...DEFAULTS, ...row.settings },
});

const ENGINES_WITH_CONTAINERS = Object.entries(ENGINES).flatMap(([name, row]) => (row.hasContainers ? [name] : []));
/** Listed first: many clients take the first server, and containers run everything. */
const runsContainers = sql<boolean>`(
  engine in (${sql.join(ENGINES_WITH_CONTAINERS.map((name) => sql.lit(name)))})
  and settings @> '{"is_reachable": true, "is_usable": true}' and not settings @> '{"is_build_server": true}'
)`;

export function serverStore(context: TeamContext): ServerStore {
  const { db, teamId } = context;
  const own = () => db.selectFrom("server").where("team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        async (window) =>
          (await within(own().select(SELECTED).orderBy(runsContainers, "desc").orderBy("id"), window).execute()).map(
            record,
          ),
        () => countRows(own()),
      ),
    find: (uuid) => firstRecord(own().select(SELECTED).where("uuid", "=", uuid)),
    findById: async (id) => (isId(id) ? await firstRecord(own().select(SELECTED).where("id", "=", id)) : undefined),
    async isAddressTaken(ip) {
      const holder = db.selectFrom("server").select("id").where(sql`lower(ip)`, "=", ip.toLowerCase());
      return (await holder.executeTakeFirst()) !== undefined;
    },
    async insert({ uuid, settings, ...server }) {
      const inserting = db
        .insertInto("server")
        .values({
          ...pick(server, FIELDS),
          ...pick(server, RENTED_FIELDS),
          uuid,
          team_id: teamId,
          settings: JSON.stringify(settings),
        })
        .returning(SELECTED);
      return record(await unlessTaken(() => inserting.executeTakeFirstOrThrow()));
    },
    async update(uuid, { settings, ...change }) {
      const updating = db
        .updateTable("server")
        .set({
          ...pick(change, FIELDS),
          ...pick(change, RENTED_FIELDS),
          updated_at: sql<Date>`now()`,
          // At another address is another engine, until that one has answered.
          ...(change.ip === undefined
            ? {}
            : { engine_id: sql<string | null>`case when ip = ${change.ip} then engine_id end` }),
          ...(settings === undefined ? {} : { settings: sql<string>`settings || ${JSON.stringify(settings)}::jsonb` }),
        })
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .returning(SELECTED);
      return await unlessTaken(() => firstRecord(updating));
    },
    // Stronger than an update's lock: it waits for transactions that refer to the row, and makes later ones wait.
    findForUpdate: (uuid) => firstRecord(own().select(SELECTED).where("uuid", "=", uuid).forUpdate()),
    markRemoving: (id) =>
      inTransaction(context, async (tx) => {
        const marked = await tx.db
          .updateTable("server")
          .set({ removing_at: sql<Date>`now()`, updated_at: sql<Date>`now()` })
          .where("id", "=", id)
          .where("team_id", "=", teamId)
          .where("removing_at", "is", null)
          .returning(["team_id", "uuid", "name"])
          .executeTakeFirst();
        if (marked === undefined) return false;
        emitServerEvent(tx, marked, "server.removing");
        wakeWorkers(tx, "server", "removal");
        return true;
      }),
    async hosts(id) {
      const rows = await db
        .selectFrom("domain")
        .innerJoin("resource", "resource.id", "domain.resource_id")
        .select("domain.host")
        .distinct()
        .where("resource.server_id", "=", id)
        .where("resource.team_id", "=", teamId)
        .orderBy("domain.host")
        .execute();
      return rows.map(({ host }) => host);
    },
  };
}

/** Servers of all teams. */
export function systemServerStore(context: StoreContext): SystemServerStore {
  const all = () => context.db.selectFrom("server").select(SELECTED);
  return {
    list: async () => (await all().orderBy("id").execute()).map(record),
    find: (id) => firstRecord(all().where("id", "=", id)),
    recordHostKey: ({ id, ip, port }, hostKey) =>
      inTransaction(context, async (tx) => {
        const server = await tx.db
          .selectFrom("server")
          .select(["team_id", "uuid", "name", "host_key"])
          .where("id", "=", id)
          .where("ip", "=", ip)
          .where("port", "=", port)
          .forUpdate()
          .executeTakeFirst();
        if (server === undefined || server.host_key !== null) return server?.host_key ?? undefined;
        await tx.db.updateTable("server").set({ host_key: hostKey }).where("id", "=", id).execute();
        emitServerEvent(tx, server, "server.host_key_recorded", { host_key: hostKey });
        return hostKey;
      }),
    recordProbe: (before, after, problem) =>
      inTransaction(context, async (tx) => {
        const { probes, unreachable_count, is_reachable, is_substituted } = after;
        const server = await tx.db
          .updateTable("server")
          .set({
            probes,
            unreachable_count,
            settings: sql<string>`settings || ${JSON.stringify({ is_reachable, is_substituted })}::jsonb`,
          })
          .where("id", "=", before.id)
          .where("probes", "=", before.probes)
          .where("ip", "=", before.ip)
          .where("port", "=", before.port)
          // A validation that has ended meanwhile knows better.
          .where(flag("is_reachable"), "=", before.settings.is_reachable)
          .where(flag("is_usable"), "=", before.settings.is_usable)
          .returning(["team_id", "uuid", "name"])
          .executeTakeFirst();
        if (server === undefined || is_reachable === before.settings.is_reachable) return;
        if (is_reachable) emitServerEvent(tx, server, "server.reachable");
        else emitServerEvent(tx, server, "server.unreachable", { problem: problem && storable(problem) });
      }),
    async findByEngine(engineId) {
      await sql`select pg_advisory_xact_lock(hashtextextended('engine ' || ${engineId}, 0))`.execute(context.db);
      return (await all().where("engine_id", "=", engineId).orderBy("id").execute()).map(record);
    },
    async recordEngine(id, engineId) {
      await context.db
        .updateTable("server")
        .set({ engine_id: engineId })
        .where("id", "=", id)
        .where("engine_id", "is distinct from", engineId)
        .execute();
    },
    clusterRecords: (id, node) => clusterRecords(context, id, node),
    recordDiskUsage: (id, { isHigh, usedPercent }) =>
      inTransaction(context, async (tx) => {
        const server = await tx.db
          .updateTable("server")
          .set({ is_disk_usage_high: isHigh })
          .where("id", "=", id)
          .where("is_disk_usage_high", "=", !isHigh)
          .returning(["team_id", "uuid", "name"])
          .executeTakeFirst();
        if (server && isHigh) emitServerEvent(tx, server, "server.disk_usage_high", { used_percent: usedPercent });
      }),
    recordProxyStatus: (id, status, problem) =>
      inTransaction(context, async (tx) => {
        const seen = { proxy_status: status, ...(problem === undefined ? {} : { proxy_problem: problem }) };
        const before = await tx.db
          .selectFrom("server")
          .select(["team_id", "uuid", "name", "proxy_status"])
          .where("id", "=", id)
          .where(({ or, eb }) =>
            or([
              eb("proxy_status", "is distinct from", status),
              ...(problem === undefined ? [] : [eb("proxy_problem", "is distinct from", problem)]),
            ]),
          )
          .forNoKeyUpdate()
          .executeTakeFirst();
        if (before === undefined) return;
        await tx.db.updateTable("server").set(seen).where("id", "=", id).execute();
        if (before.proxy_status === status) return;
        const change = { status, previous_status: before.proxy_status };
        emitServerEvent(tx, before, "server.proxy_status_changed", change);
      }),
    async deleteIfEmpty(id) {
      // The foreign keys protect resources that still exist.
      const isDeleted = await undefinedOn(isForeignKeyViolation, () =>
        inTransaction(context, (tx) => deleteIfEmpty(tx, id)),
      );
      return isDeleted ?? false;
    },
    finishValidation: (lease, serverId, { is_reachable, is_usable, validation_logs, steps, facts, swarm, engine }) =>
      inTransaction(context, async (tx) => {
        const node = nodeFields(swarm);
        const error = is_usable ? null : validation_logs;
        const isHeld = await systemJobStore(tx).finish(lease, is_usable ? "finished" : "failed", error);
        if (!isHeld) return false;
        if (steps !== undefined)
          await tx.db
            .updateTable("job")
            .set({ steps: storableJson(steps) })
            .where("id", "=", lease.job_id)
            .execute();
        const reached = is_reachable ? { is_substituted: false } : {};
        const settings = JSON.stringify({ is_reachable, is_usable, ...reached, ...node.settings });
        const server = await tx.db
          .updateTable("server")
          .set({
            is_validating: false,
            validation_logs: validation_logs && storable(validation_logs),
            // Earlier probes are outdated.
            ...(is_reachable ? { probes: 0, unreachable_count: 0 } : {}),
            ...(facts === undefined ? {} : { server_metadata: facts && storable(JSON.stringify(facts)) }),
            ...node.columns,
            settings: sql<string>`settings || ${settings}::jsonb`,
            updated_at: sql<Date>`now()`,
          })
          .where("id", "=", serverId)
          .returning(["team_id", "uuid", "name"])
          .executeTakeFirst();
        if (server && engine) await changeEngine(tx, serverId, engine);
        if (server) emitServerEvent(tx, server, "server.validated", { is_reachable, is_usable });
        return true;
      }),
  };
}

/** Leased jobs notice that their server was deleted only when they are claimed again. */
const HELD_JOBS = [
  "server.install_engine",
  "server.restart_proxy",
  "server.start_proxy",
  "server.stop_proxy",
  "server.validate",
] as const satisfies readonly JobType[];

async function deleteIfEmpty(context: StoreContext, id: number): Promise<boolean> {
  const deleted = await context.db
    .deleteFrom("server")
    .where("id", "=", id)
    .where("removing_at", "is not", null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("resource").select("id").whereRef("server_id", "=", "server.id"))),
    )
    .returning(["team_id", "uuid", "name"])
    .executeTakeFirst();
  if (deleted === undefined) return false;
  await endJobs(context, isAbout({ type: "server.delete", subject_id: id }), "finished", null);
  for (const type of HELD_JOBS) {
    await endJobs(context, isAbout({ type, subject_id: id }), "failed", "The server was deleted in the meantime.");
  }
  emitServerEvent(context, deleted, "server.deleted");
  return true;
}

function emitServerEvent(
  context: StoreContext,
  { team_id, uuid, name }: Pick<ServerRecord, "team_id" | "uuid" | "name">,
  type: Extract<EventType, `server.${string}`>,
  payload: Readonly<Record<string, unknown>> = {},
): void {
  emit(context, { team_id, type, resource_uuid: uuid, payload: { server_name: name, ...payload } });
}

/** @throws DomainError `resource.in_use` */
async function unlessTaken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!violates(error, "server_address")) throw error;
    throw new DomainError("resource.in_use", "A server with this IP/Domain is already in use.", { cause: error });
  }
}

async function firstRecord(query: {
  executeTakeFirst(): Promise<ServerRow | undefined>;
}): Promise<ServerRecord | undefined> {
  const row = await query.executeTakeFirst();
  return row && record(row);
}

/** A setting as the database compares it; absent ones are false. */
const flag = (name: "is_reachable" | "is_usable") =>
  sql<boolean>`coalesce((settings ->> ${sql.lit(name)})::boolean, false)`;
