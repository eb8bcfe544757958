import { type LiveKey, liveKeyOf } from "@berth/core/deploy";
import { SHARED_SCOPES } from "@berth/core/env";
import type { Stores, SystemStores } from "@berth/core/ports";
import { type TestDatabase, testCipher, testDatabase } from "@berth/testing";
import { type CompiledQuery, Kysely, sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { availability } from "./availability.ts";
import type { Database } from "./client.ts";
import { postgresDialects } from "./dialect.ts";
import { fillLargeTables, type LargeTables, type TeamTables } from "./large-tables.fixture.ts";
import type { DB } from "./schema.ts";
import { stores as storesOf, systemStores } from "./scope.ts";
import { authenticator } from "./token.ts";

const PAGE = { take: 20 };

interface Read {
  readonly stores: Stores;
  readonly system: SystemStores;
  readonly findToken: (hash: string) => Promise<unknown>;
}

const keyOf = ({ resourceId, serverId }: TeamTables): LiveKey => liveKeyOf({ id: resourceId, server_id: serverId });

/** All reads in normal operation: lists, lookups, and the queries that workers repeat. */
const READS: Readonly<Record<string, (read: Read, tables: TeamTables) => Promise<unknown>>> = {
  "applications, first page": ({ stores }) => stores.applications.list({}, PAGE),
  "applications, a later page": ({ stores }) => stores.applications.list({}, { ...PAGE, skip: 40 }),
  "applications of an environment": ({ stores }, { environmentId }) =>
    stores.applications.list({ environment_id: environmentId }, PAGE),
  "applications with a tag": ({ stores }) => stores.applications.list({ tag: "blue" }, PAGE),
  "applications by their numbers": ({ stores }, { resourceId }) => stores.applications.list({ ids: [resourceId, 7] }),
  "an application": ({ stores }, { uuid }) => stores.applications.find(uuid),
  "an application's secrets": ({ stores }, { resourceId }) => stores.applications.secretsOf([resourceId]),
  "services, first page": ({ stores }) => stores.services.list({}, PAGE),
  "services of an environment": ({ stores }, { environmentId }) =>
    stores.services.list({ environment_id: environmentId }, PAGE),
  "services with a tag": ({ stores }) => stores.services.list({ tag: "blue" }, PAGE),
  "a service": ({ stores }, { uuid }) => stores.services.find(`${uuid}v1`),
  "a service's secrets": ({ stores }, { resourceId }) => stores.services.secretsOf([resourceId]),
  "a service's containers": ({ stores }, { resourceId }) => stores.services.containers([resourceId]),
  "a container": ({ stores }, { uuid }) => stores.services.findContainer(`${uuid}v1c0`),
  "databases, first page": ({ stores }) => stores.databases.list({}, PAGE),
  "databases of an environment": ({ stores }, { environmentId }) =>
    stores.databases.list({ environment_id: environmentId }, PAGE),
  "a database": ({ stores }, { uuid }) => stores.databases.find(`${uuid}b1`),
  "a database's secrets": ({ stores }, { databaseId }) => stores.databases.secretsOf([databaseId]),
  "variables with some keys": ({ stores }, { databaseId }) =>
    stores.envs.findByKeys([databaseId], ["REDIS_PASSWORD", "REDIS_USERNAME"]),
  "a database's backups": ({ stores }, { databaseId }) => stores.backups.list(databaseId, { take: 1 }),
  "backups of databases": ({ stores }, { databaseId }) => stores.backups.listOf([databaseId]),
  "a backup": ({ stores }, { databaseId, uuid }) => stores.backups.find(databaseId, `${uuid}b1u`),
  "a backup's executions": ({ stores }, { scheduleId }) => stores.backups.executions(scheduleId, PAGE),
  "the newest executions of backups": ({ stores }, { scheduleId }) => stores.backups.newestExecutions([scheduleId], 1),
  "S3 storages": ({ stores }) => stores.s3Storages.list(PAGE),
  "an S3 storage": ({ stores }, { uuid, teamId }) => stores.s3Storages.find(`${uuid}${teamId}s1`),
  "an S3 storage's login": ({ stores }) => stores.s3Storages.credentialsOf([-1]),
  registries: ({ stores }) => stores.registries.list(PAGE),
  "a registry": ({ stores }, { uuid, teamId }) => stores.registries.find(`${uuid}${teamId}g1`),
  "a team's logins for registries": ({ stores }) => stores.registries.logins(),
  "a registry's password": ({ stores }) => stores.registries.passwordsOf([-1]),
  "an application's destinations": ({ stores }, { resourceId }) => stores.applicationDestinations.list(resourceId),
  "an application's deployments to servers": ({ stores }, { resourceId, serverId }) =>
    stores.deployments.newestOn(resourceId, [serverId, -1]),
  resources: ({ stores }) => stores.resources.list({}, PAGE),
  "ids of resources": ({ stores }) => stores.resources.listIds(PAGE),
  "resources of an environment": ({ stores }, { environmentId }) =>
    stores.resources.list({ environment_id: environmentId }, PAGE),
  "resources of a server": ({ stores }, { serverId }) => stores.resources.list({ server_id: serverId }, PAGE),
  "resources of a kind in an environment": ({ stores }, { environmentId }) =>
    stores.resources.list({ environment_id: environmentId, kind: "application" }, PAGE),
  "a resource": ({ stores }, { uuid }) => stores.resources.find({ kind: "application", uuid }),
  "active deployments": ({ stores }) => stores.deployments.listActive({ take: 5 }),
  "an application's deployments": ({ stores }, { resourceId }) =>
    stores.deployments.listByResource(resourceId, {}, PAGE),
  "a pull request's deployments": ({ stores }, { resourceId }) =>
    stores.deployments.listByResource(resourceId, { pull_request_id: 7 }, PAGE),
  "a deployment": ({ stores }, { uuid }) => stores.deployments.find(`${uuid}d1`),
  "a deployment's steps": ({ stores }, { deploymentId }) => stores.deployments.steps(deploymentId),
  "a log behind a line": ({ stores }, { deploymentId }) =>
    stores.deployments.log(deploymentId, { after: 700, ...PAGE }),
  "the end of a log": ({ stores }, { deploymentId }) => stores.deployments.log(deploymentId, { last: 20 }),
  previews: ({ stores }, { resourceId }) => stores.previews.list(resourceId, PAGE),
  "a preview": ({ stores }, { resourceId }) => stores.previews.find(resourceId, 7),
  "previews of resources": ({ system }, { resourceId }) => system.previews.listByResources([resourceId, -1]),
  "previews of an application": ({ system }, { resourceId }) => system.previews.listByApplication(resourceId),
  variables: ({ stores }, { resourceId }) => stores.envs.list(resourceId),
  "shared variables": ({ stores }) => stores.sharedVariables.list({ scope: "project", id: -1 }),
  "shared variables that are referred to": ({ stores }, { resourceId }) =>
    stores.sharedVariables.seenBy(
      [resourceId],
      SHARED_SCOPES.map((scope) => ({ scope, key: "A" })),
    ),
  "databases that are referred to": ({ stores }, { resourceId }) => stores.databases.namedBy([resourceId], ["db"]),
  "variables that name databases": ({ stores }, { environmentId }) => stores.envs.namingDatabases(environmentId),
  storages: ({ stores }, { resourceId }) => stores.storages.list(resourceId, { take: 1 }),
  "what a resource used": ({ stores }, { resourceId }) =>
    stores.metrics.list(resourceId, new Date(Date.now() - 3_600_000), PAGE),
  "usage of a server": ({ stores }, { serverId }) =>
    stores.metrics.listByServer(serverId, new Date(Date.now() - 3_600_000)),
  "what runs now uses": ({ stores }) => stores.metrics.newest(new Date(Date.now() - 120_000), PAGE),
  "scheduled tasks": ({ stores }, { resourceId }) => stores.scheduledTasks.list(resourceId, { take: 1 }),
  "a task's executions": ({ stores }, { taskId }) => stores.scheduledTasks.executions(taskId, PAGE),
  tags: ({ stores }) => stores.tags.list(PAGE),
  "a resource's tags": ({ stores }, { resourceId }) => stores.tags.listByResource(resourceId, { take: 1 }),
  "holders of a host": ({ stores }, { uuid }) =>
    stores.domains.holders([{ host: `${uuid}.test`, path: "/", url: "x" }]),
  events: ({ stores }) => stores.events.list({ after: 100, ...PAGE }),
  teams: ({ stores }) => stores.teams.list(PAGE),
  projects: ({ stores }) => stores.projects.list(PAGE),
  environments: ({ stores }) => stores.environments.list(-1, PAGE),
  servers: ({ stores }) => stores.servers.list(PAGE),
  "servers of all teams": ({ system }) => system.servers.list(),
  destinations: ({ stores }) => stores.destinations.list({}, PAGE),
  "destinations of a server": ({ stores }, { serverId }) => stores.destinations.list({ server_id: serverId }, PAGE),
  "what runs on a server": ({ system }) => system.resources.listByServer(-1),
  "what changed on servers": ({ system }) =>
    system.resources.changes(
      new Map([
        [-1, "3"],
        [-2, "4"],
      ]),
    ),
  "what is recorded of resources": ({ system }, { resourceId }) => system.resources.inspect([resourceId, -1]),
  "applications of all teams": ({ system }, { resourceId }) =>
    system.resources.subjects("application", [resourceId, -1]),
  "databases of all teams": ({ system }, { resourceId }) => system.resources.subjects("database", [resourceId, -1]),
  "services of all teams": ({ system }, { resourceId }) => system.resources.subjects("service", [resourceId, -1]),
  "private keys": ({ stores }) => stores.privateKeys.list(PAGE),
  "a private key": ({ stores }, { uuid }) => stores.privateKeys.find(`${uuid}k1`),
  "a private key by its fingerprint": ({ stores }, { uuid }) => stores.privateKeys.findByFingerprint(`${uuid}-1`),
  "a private key's secrets": ({ stores }) => stores.privateKeys.secretsOf([-1]),
  "a private key's users": ({ stores }) => stores.privateKeys.users(1),
  members: ({ stores }, { teamId }) => stores.members.list(teamId, PAGE),
  "a member": ({ stores }, { teamId }) => stores.members.find(teamId, 0),
  "a member's tokens": ({ stores }, { teamId }) => stores.members.tokens(teamId, 0),
  "a team's owners": ({ stores }, { teamId }) => stores.transaction((tx) => tx.members.lockOwners(teamId)),
  tokens: ({ stores }) => stores.tokens.list(PAGE),
  "cloud tokens": ({ stores }) => stores.cloudTokens.list(PAGE),
  "a cloud token": ({ stores }, { uuid }) => stores.cloudTokens.find(`${uuid}1c1`),
  "the live release": ({ stores }, app) => stores.releases.live(keyOf(app)),
  "GitHub apps": ({ stores }) => stores.githubApps.list(PAGE),
  "applications of a pushed repository": ({ system }, { uuid }) =>
    system.webhooks.applicationsByRepository([`team/${uuid}7`]),
  "applications of a GitHub app's repository": ({ system }, { githubAppId }) =>
    system.webhooks.applicationsByGithubApp([githubAppId], 7),
  "GitHub apps by their number": ({ system }, { resourceId }) => system.webhooks.githubApps(resourceId),
  "a delivery that was answered": ({ system }, { uuid }) =>
    system.webhooks.begin({ provider: "github", owner: uuid, id: "7" }),
  "a token": ({ findToken }, { uuid }) => findToken(`${uuid}1-1`),
  "the next deployment to run": ({ system }) => system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, []),
  "deployments that are renewed": ({ system }, { uuid }) => system.deployments.renew("worker", [`${uuid}d1`], 60),
  "an abandoned deployment": ({ system }) => system.deployments.claimAbandoned("worker", 60),
  "active deployments of a server": ({ system }, { serverId }) => system.deployments.listActive(serverId),
  "active deployments of a resource": ({ system }, { resourceId }) => system.deployments.listActiveOf(resourceId),
  "active deployments that are built on a server": ({ system }, { serverId }) =>
    system.deployments.listBuilding([serverId, serverId + 1]),
  "releases that retire": ({ system }, { serverId }) => system.releases.listByRole("candidate", [serverId]),
  "releases that are measured": ({ system }, { serverId }) => system.releases.listMeasured([serverId]),
  "releases of a server": ({ system }) => system.releases.listByServer(-1),
  "releases of resources": ({ system }, { resourceId }) => system.releases.listByResources([resourceId, -1]),
  "an application's kept builds": ({ system }, app) => system.releases.listSurplus(keyOf(app), 2),
  "what stays in an environment": ({ stores }, { environmentId }) => stores.resources.listStayingIn([environmentId], 3),
  "what stays on a server": ({ stores }, { serverId }) => stores.resources.listStaying(serverId, 3),
  "which resources exist": ({ system }, { uuid }) => system.resources.existing([uuid]),
  "whether a resource has run": ({ system }, { resourceId }) => system.resources.hasRun(resourceId),
  "who uses a destination": ({ stores }, { destinationId }) => stores.destinations.users(destinationId, 3),
  jobs: ({ stores }) => stores.jobs.list({}, PAGE),
  "jobs, a later page": ({ stores }) => stores.jobs.list({}, { ...PAGE, skip: 40 }),
  "jobs that failed": ({ stores }) => stores.jobs.list({ status: "failed" }, PAGE),
  "jobs that wait": ({ stores }) => stores.jobs.list({ status: "queued", type: "resource.delete" }, PAGE),
  "jobs of a type": ({ stores }) => stores.jobs.list({ type: "server.validate" }, PAGE),
  "jobs of a resource": ({ stores }, { uuid }) => stores.jobs.list({ subject: uuid }, PAGE),
  "a job": ({ stores }, { uuid }) => stores.jobs.find(`${uuid}j1`),
  "jobs that are renewed": ({ system }, { uuid }) => system.jobs.renew("worker", [`${uuid}j1`], 60),
  "a job to do": ({ system }) => system.jobs.claim(["server.validate"], [-1], { owner: "worker", leaseSeconds: 60 }),
  "queues that hold anything": ({ system }) => system.queues.busy(),
  "when work was asked for last": ({ system }) => system.jobs.lastRequests("server.cleanup", [-1, -2]),
  "the job of a removal": ({ system }) => system.jobs.begin({ type: "resource.delete", subject_id: -1 }),
  "a task's execution": ({ stores }, { taskId, uuid }) => stores.scheduledTasks.findExecution(taskId, `${uuid}x1`),
  "executions that wait": ({ system }) =>
    system.scheduledTasks.claim([-1], { owner: "worker", leaseSeconds: 60, at: new Date() }),
  "executions that are renewed": ({ system }, { uuid }) => system.scheduledTasks.renew("worker", [`${uuid}x1`], 60),
  "executions that were left": ({ system }) => system.scheduledTasks.endAbandoned(new Date()),
  "executions to forget": ({ system }) => system.scheduledTasks.prune(1_000_000),
  "kinds with something due": ({ system }) => system.schedules.dueKinds(["scheduled_task", "backup"], new Date()),
  "what is due": ({ system }) => system.schedules.due("scheduled_task", new Date(), PAGE),
  "what is due, further on": ({ system }) =>
    system.schedules.due("scheduled_task", new Date(), { ...PAGE, after: { due_at: new Date(0), subject_id: 500 } }),
  "jobs that are old": ({ system }) => system.jobs.prune(1000),
  "backups that were asked for": ({ system }) => system.backups.beginRequested([-1]),
  "copies of a backup": ({ system }, { scheduleId }) => system.backups.copies(scheduleId, "local"),
  "a database's restores": ({ stores }, { databaseId }) => stores.restores.list(databaseId, { take: 1 }),
  "the last drills of databases": ({ stores }, { databaseId }) => stores.restores.lastDrills([databaseId]),
  "the oldest backups of databases": ({ stores }, { databaseId }) => stores.restores.oldestBackups([databaseId]),
  "whether a backup is being restored": ({ stores }, { scheduleId }) => stores.restores.isRunning(scheduleId),
  "a user's passkeys": ({ system }) => system.passkeys.list(-1),
  "summaries of resources": ({ stores }, { resourceId }) => stores.resources.summaries([resourceId]),
  "newest deployments of resources": ({ stores }, { resourceId }) => stores.deployments.newestOf([resourceId]),
  "the routing of a resource": ({ system }, app) => system.resources.routing(keyOf(app)),
  "backups that wait": ({ system }) =>
    system.backups.claim([-1], { owner: "worker", leaseSeconds: 60, at: new Date() }),
  "backups that are renewed": ({ system }, { uuid }) => system.backups.renew("worker", [`${uuid}b1x1`], 60),
  "backups that were left": ({ system }) => system.backups.endAbandoned(new Date(0)),
  "copies that are given up": ({ system }, { uuid }) => system.backups.giveUp([`${uuid}y7`], "s3"),
  "copies to remove": ({ system }) => system.backups.removals("/backups", 20),
  "backups to forget": ({ system }) => system.backups.prune(1_000_000),
  "restores that wait": ({ system }) =>
    system.restores.claim([-1], { owner: "worker", leaseSeconds: 60, at: new Date() }),
  "restores that are renewed": ({ system }, { uuid }) => system.restores.renew("worker", [`${uuid}b1ux1r`], 60),
  "restores that were left": ({ system }) => system.restores.endAbandoned(new Date(0)),
  "a backup that is cancelled": ({ stores }, { scheduleId, uuid }) =>
    stores.backups.requestCancel(scheduleId, `${uuid}b1x1`, new Date(0)),
  "a restore that is cancelled": ({ stores }, { databaseId, uuid }) =>
    stores.restores.requestCancel(databaseId, `${uuid}b1ux1r`, new Date(0)),
  "restores to forget": ({ system }) => system.restores.prune(1000),
  "certificates that expire": ({ system }) => system.databases.emitExpiring(new Date(0)),
  "databases that have a port": ({ system }) => system.databases.listForwarded([-1]),
  "what was removed long ago": ({ system }) => system.resources.pruneRemoved(1000),
  "changes to forget": ({ system }) => system.resources.pruneChanges(1_000_000),
  "owners of certificates": ({ system }, { uuid, serverId }) =>
    system.certificateProblems.owners(serverId, [`${uuid}.test`]),
  "what is found of certificates": ({ system }, { uuid, resourceId }) =>
    system.certificateProblems.record([{ resource_id: resourceId, host: `${uuid}.test`, problem: null }]),
  "what is being removed": ({ system }) => system.resources.listRemoving(),
  "a team's channel": ({ stores }) => stores.notifications.settings("webhook"),
  deliveries: ({ stores }) => stores.notifications.deliveries({}, PAGE),
  "deliveries of a channel": ({ stores }) => stores.notifications.deliveries({ kind: "slack" }, PAGE),
  "deliveries that failed": ({ stores }) => stores.notifications.deliveries({ state: "failed" }, PAGE),
  "addresses of a team's members": ({ stores }) => stores.notifications.memberAddresses(),
  "deliveries that are due": ({ system }) =>
    system.notifications.claim({ countMax: 20, perTeamMax: 4, running: [-1], leaseSeconds: 0 }),
  "the result of a delivery": ({ system }) =>
    system.notifications.record({ id: -1, attempts: 1 }, { isDelivered: true }, undefined),
  "deliveries to forget": ({ system }) => system.notifications.prune(1_000_000),
};

// Tables of one or two disk pages, where a full scan is fastest.
const SMALL_TABLES = new Set([
  "server",
  "destination",
  "environment",
  "project",
  "team",
  "setting",
  "tag",
  "resource_count",
  "lease",
  "second_factor",
  "passkey",
]);

let database: TestDatabase;
let tables: LargeTables;
let pool: pg.Pool;
let logged: CompiledQuery[] = [];
let loggedDatabase: Database;

beforeAll(async () => {
  database = await testDatabase();
  tables = await fillLargeTables(database, { applications: 10_000, deployments: 200_000 });
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const kysely = new Kysely<DB>({
    dialect: postgresDialects({
      pool,
      getTypeParser: pg.types.getTypeParser,
      answers: availability({ probe: async () => undefined }),
      outcomeOf: async () => "unknown",
    }).ordinary,
    log: ({ level, query }) => {
      if (level === "query") logged.push(query);
    },
  });
  loggedDatabase = { ...database.database, kysely, leases: kysely };
});
afterAll(async () => {
  await loggedDatabase.kysely.destroy();
  await database.close();
});

async function queriesOf(name: string, team: TeamTables): Promise<readonly CompiledQuery[]> {
  logged = [];
  const dependencies = { cipher: testCipher() };
  const read = {
    stores: noting(storesOf(loggedDatabase, dependencies)({ teamId: team.teamId })),
    system: noting(systemStores(loggedDatabase, dependencies), "system "),
    findToken: authenticator(loggedDatabase).findToken,
  };
  await READS[name]?.(read, team);
  return logged;
}

/** Lists that the cases above have read, as `store.function`. */
const readLists = new Set<string>();

/** Records which functions of the stores are called. */
function noting<All extends object>(all: All, prefix = ""): All {
  const notingStore = (storeName: string, store: object) =>
    new Proxy(store, {
      get(target, name, receiver) {
        readLists.add(`${prefix}${storeName}.${String(name)}`);
        return Reflect.get(target, name, receiver);
      },
    });
  return new Proxy(all, {
    get(target, name, receiver) {
      const store: unknown = Reflect.get(target, name, receiver);
      return typeof store === "object" && store !== null ? notingStore(String(name), store) : store;
    },
  });
}

/** Of what is created at its first use, the names are on the prototype. */
const listsOf = <All extends object>(all: All, prefix = "") =>
  [...Object.keys(all), ...Object.getOwnPropertyNames(Object.getPrototypeOf(all))].flatMap((store) =>
    Object.keys(all[store as keyof All] ?? {})
      .filter((name) => /^(list|executions)/.test(name))
      .map((name) => `${prefix}${store}.${name}`),
  );

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Rows Removed by Filter"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

async function explain(query: CompiledQuery, options: string, parameters = query.parameters): Promise<PlanNode> {
  const { rows } = await pool.query(`explain (format json, ${options}) ${query.sql}`, [...parameters]);
  return rows[0]["QUERY PLAN"][0].Plan;
}

const nodesOf = (plan: PlanNode): readonly PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

const scannedWhole = (plan: PlanNode) =>
  nodesOf(plan)
    .filter((node) => node["Node Type"] === "Seq Scan")
    .map((node) => node["Relation Name"] ?? "")
    .filter((table) => !SMALL_TABLES.has(table));

it.each(Object.keys(READS))("reads %s by an index, with and without knowing the values", async (name) => {
  for (const team of [tables.large, tables.small]) {
    const queries = await queriesOf(name, team);
    expect(queries.length).toBeGreaterThan(0);
    for (const query of queries) {
      if (!/^\s*(\(?select|with|update|delete)/i.test(query.sql)) continue;
      expect(scannedWhole(await explain(query, "costs off")), query.sql).toEqual([]);
      // PostgreSQL uses a generic plan after five executions.
      expect(scannedWhole(await explain(query, "generic_plan", [])), query.sql).toEqual([]);
    }
  }
});

it("knows every list that a store has", async () => {
  for (const name of Object.keys(READS)) await queriesOf(name, tables.small);
  const dependencies = { cipher: testCipher() };
  const all = [
    ...listsOf(storesOf(loggedDatabase, dependencies)({ teamId: tables.small.teamId })),
    ...listsOf(systemStores(loggedDatabase, dependencies), "system "),
  ];
  expect(all.length).toBeGreaterThan(30);
  expect(all.filter((list) => !readLists.has(list))).toEqual([]);
});

/** Pages of memory or disk that the queries read: the cost of a page of a list, measured without a clock. */
async function blocksOf(name: string, team: TeamTables): Promise<number> {
  let blocks = 0;
  for (const query of await queriesOf(name, team)) {
    const plan = await explain(query, "analyze, buffers");
    blocks += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
  }
  return blocks;
}

it.each([
  "applications, first page",
  "applications, a later page",
  "services, first page",
  "resources",
  "active deployments",
  "an application's deployments",
  "a pull request's deployments",
  "an application",
  "a deployment",
  "a log behind a line",
  "the end of a log",
  "events",
  "scheduled tasks",
  "a task's executions",
  "applications of an environment",
  "resources of a server",
  "a token",
  "what is due",
])("touches at most twice as much for %s in large tables as in small ones", async (name) => {
  const [small, large] = [await blocksOf(name, tables.small), await blocksOf(name, tables.large)];
  // A larger index is a level or two deeper.
  expect(large).toBeLessThanOrEqual(small * 2 + 6);
});

it("finds a server's resources without passing over those of other servers", async () => {
  for (const team of [tables.large, tables.small]) {
    for (const query of await queriesOf("resources of a server", team)) {
      for (const node of nodesOf(await explain(query, "analyze, buffers"))) {
        if (node["Relation Name"] === "resource") expect(node["Rows Removed by Filter"] ?? 0).toBe(0);
      }
    }
  }
});

it("reads the hosts of a server by indexes", async () => {
  const { teamId, serverId } = tables.small;
  logged = [];
  const { servers } = storesOf(loggedDatabase, { cipher: testCipher() })({ teamId });
  expect(await servers.hosts(serverId)).toHaveLength(100);
  for (const query of logged) expect(scannedWhole(await explain(query, "costs off"))).toEqual([]);
});

it("knows the totals of long lists without counting", async () => {
  const { stores, resourceId } = tables.large;
  expect((await stores.applications.list({}, PAGE)).total).toBe(10_000);
  expect((await stores.deployments.listByResource(resourceId, {}, PAGE)).total).toBe(200_000);
  expect((await stores.deployments.listByResource(resourceId, { pull_request_id: 7 }, PAGE)).total).toBe(20_000);
  const { rows } = await sql<{ count: number }>`select count(*) from deployment
    where resource_id = ${resourceId}`.execute(database.database.kysely);
  expect(rows[0]?.count).toBe(200_000);
  expect((await stores.scheduledTasks.executions(tables.large.taskId, PAGE)).total).toBe(50_001);
});
