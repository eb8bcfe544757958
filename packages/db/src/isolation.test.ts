import { BACKUP_DEFAULTS } from "@berth/core/backup";
import { liveKeyOf } from "@berth/core/deploy";
import { SHARED_SCOPES } from "@berth/core/env";
import type {
  BackupScheduleFields,
  EnvFields,
  NewJob,
  NewRestore,
  PreviewRecord,
  ScheduledTaskFields,
  ServerRecord,
  SharedVariableOwner,
  StorageFields,
  Stores,
} from "@berth/core/ports";
import { NO_LOG_DRAIN_SECRETS } from "@berth/core/server";
import {
  newDeployment,
  type TestDatabase,
  testApplication,
  testBackup,
  testDatabaseResource,
  testExecutions,
  testGithubApp,
  testPlace,
  testPrivateKey,
  testService,
  testTeam,
  testUuid,
} from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const env: EnvFields = {
  key: "KEY",
  value: "v",
  is_preview: false,
  is_literal: false,
  is_multiline: false,
  is_shown_once: false,
  is_runtime: true,
  is_buildtime: true,
  is_required: false,
  comment: null,
  order: null,
};
const storage: StorageFields = {
  type: "persistent",
  name: "data",
  mount_path: "/data",
  host_path: null,
  fs_path: null,
  content: null,
  is_directory: false,
  is_preview_suffix_enabled: true,
  container: null,
  is_managed: false,
  is_read_only: false,
};
const task: ScheduledTaskFields = {
  name: "Clean up",
  command: "true",
  frequency: "daily",
  container: null,
  timeout: 300,
  enabled: true,
};
const shared = { key: "SHARED", value: "theirs", is_multiline: false, is_shown_once: false, comment: null };
const SECRETS = { private_key: "stolen", ssh_key: "stolen", http_basic_auth_password: null };
const APP_SECRETS = { client_secret: "stolen", webhook_secret: "stolen" };
const backup: BackupScheduleFields = {
  enabled: true,
  frequency: "daily",
  s3_storage_id: null,
  settings: BACKUP_DEFAULTS,
};
const newRestore = ({ id }: { readonly id: number }, execution: { readonly id: number }): NewRestore => ({
  ...{ uuid: testUuid(), kind: "drill", database_name: null },
  ...{ backup_execution_id: execution.id, resource_id: id, target_resource_id: id },
});
const sample = {
  ...{ deployment_uuid: "d1", cpu_percent: 1, memory_bytes: 1, processes: 1 },
  ...{
    network_received_bytes: null,
    network_sent_bytes: null,
    disk_read_bytes: null,
    disk_written_bytes: null,
    requests_per_second: null,
  },
};
const login = { key: "key", secret: "secret" };
const claim = (host: string) => ({ host, path: "/", url: `http://${host}` });

/** One object of everything that a team can have. */
async function world(database: TestDatabase) {
  const stores = await testTeam(database);
  const team = await stores.teams.current();
  if (team === undefined) throw new Error("made above");
  const token = await stores.tokens.insert({
    team_id: team.id,
    user_id: 0,
    name: "CI",
    abilities: ["read"],
    hash: testUuid(),
    expires_at: null,
  });
  const place = await testPlace(stores);
  const key = await testPrivateKey(stores);
  const app = await testApplication(stores, place);
  const { database: own, storage: bucket, schedule, execution } = await testBackup(database, stores, place);
  const host = `${testUuid()}.test`;
  await stores.domains.claim(app.id, [claim(host)], { takeFromOwnTeam: false });
  const opened = await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
  if (opened === undefined) throw new Error("new above");
  const variable = await stores.envs.insert(app.id, testUuid(), env);
  const sharedOnes: { owner: SharedVariableOwner; uuid: string }[] = [];
  for (const owner of [
    { scope: "team", id: team.id },
    { scope: "project", id: place.project.id },
    { scope: "environment", id: place.environment.id },
    { scope: "server", id: place.server.id },
  ] as const) {
    sharedOnes.push({ owner, uuid: (await stores.sharedVariables.insert(owner, testUuid(), shared)).uuid });
  }
  const volume = await stores.storages.insert(app.id, testUuid(), storage);
  const scheduled = await stores.scheduledTasks.insert(app.id, testUuid(), task);
  const [executed = ""] = await testExecutions(database.system, scheduled, place.server.id, 1);
  await database.system.metrics.insert([{ ...sample, at: new Date(), resource_id: app.id }]);
  const label = { uuid: testUuid(), name: "blue" };
  await stores.tags.attach(app.id, [label]);
  await stores.deployments.enqueue([newDeployment(app)]);
  const running = await database.system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
  if (running === undefined) throw new Error("queued above");
  const { lease, deployment } = running;
  const { deployments, releases } = database.system;
  await deployments.saveStep(lease, "checkout", { status: "done" });
  await deployments.appendLog(deployment.id, [
    { step: null, type: "stdout", output: "secret", hidden: false, timestamp: new Date() },
  ]);
  await releases.saveCandidate(lease, { artifact: { type: "image", image: "i" }, built_by: "x", upstream: null });
  await releases.promote(lease);
  await stores.logDrains.save(place.server.id, { ...NO_LOG_DRAIN_SECRETS, logdrain_axiom_api_key: "theirs" });
  const cloudToken = await stores.cloudTokens.insert({
    uuid: testUuid(),
    provider: "hetzner",
    name: "cloud",
    token: "secret",
    url: "https://api.example",
  });
  const [job] = await stores.jobs.request([validation(place.server)]);
  if (job === undefined) throw new Error("No job was queued.");
  const githubApp = await testGithubApp(stores, { private_key_id: key.id });
  const { service, containers } = await testService(stores, place);
  const [container] = containers;
  if (container === undefined) throw new Error("made above");
  const restore = await stores.restores.insert(newRestore(own, execution));
  if (restore === undefined) throw new Error("the first");
  const held = { name: "ghcr", description: null, address: "ghcr.io", username: "me", password: "secret" };
  const registry = await stores.registries.insert(testUuid(), held);
  const saved = { registry, database: own, bucket, schedule, execution, restore };
  const resources = { app, service, container, ...saved };
  const owned = {
    githubApp,
    ...resources,
    host,
    opened,
    variable,
    sharedOnes,
    volume,
    scheduled,
    executed,
    label,
    deployment,
    job,
  };
  return { stores, team, token, cloudToken, key, ...place, ...owned };
}
const validation = (server: ServerRecord): NewJob => ({
  uuid: testUuid(),
  type: "server.validate",
  subject: { ...server, type: "server" },
});
const previewRemoval = (preview: PreviewRecord): NewJob => ({
  uuid: testUuid(),
  type: "preview.delete",
  subject: { ...preview, type: "preview", name: "app, pull request 7" },
});
type World = Awaited<ReturnType<typeof world>>;

/**
 * What each function of the stores returns for another team's objects: the same as for missing ones. A new function
 * of a store does not compile until it is listed here.
 */
type Attempts = {
  [Store in Exclude<keyof Stores, "transaction">]: {
    [Name in keyof Stores[Store]]: (stores: Stores, theirs: World) => Promise<unknown>;
  };
};
const REFUSED = Symbol("throws not found or conflict");
const NEVER = AbortSignal.abort();

/** The result for the other team's resources with a value in each scope. */
const ofEach = async <T>(
  { sharedOnes }: World,
  attempt: (owner: SharedVariableOwner, uuid: string) => Promise<T | undefined>,
): Promise<readonly T[]> => {
  const found: T[] = [];
  for (const { owner, uuid } of sharedOnes) {
    const answer = await attempt(owner, uuid);
    if (answer !== undefined) found.push(answer);
  }
  return found;
};

const ATTEMPTS: Attempts = {
  teams: {
    current: (stores) => stores.teams.current().then((team) => team?.name === "Team" && undefined),
    list: (stores, { team }) => stores.teams.list().then(({ items }) => items.filter(({ id }) => id === team.id)),
    find: (stores, { team }) => stores.teams.find(team.id),
    insert: (stores) => refused(stores.teams.insert({ name: "x", description: null })),
    update: (stores, { team }) => stores.teams.update(team.id, { name: "stolen" }),
    alone: (stores) => stores.teams.alone(),
  },
  members: {
    list: (stores, { team }) =>
      stores.members.list(team.id, { take: 0 }).then(({ items, total }) => [...items, ...Array(total).keys()]),
    find: (stores, { team }) => stores.members.find(team.id, 0),
    insert: (stores, { team }) =>
      refused(stores.members.insert(team.id, { email: "x@example.com", name: "x", role: "owner" })),
    setRole: (stores, { team }) => stores.members.setRole(team.id, 0, "member"),
    delete: (stores, { team }) => stores.members.delete(team.id, 0),
    lockOwners: (stores, { team }) => stores.members.lockOwners(team.id),
    insertLink: (stores, { team }) =>
      refused(
        stores.members.insertLink({
          hash: testUuid(),
          user_id: 0,
          team_id: team.id,
          replaces_password: true,
          expires_at: new Date(Date.now() + 60_000),
        }),
      ),
    tokens: (stores, { team }) => stores.members.tokens(team.id, 0),
  },
  tokens: {
    list: (stores) => stores.tokens.list().then(({ items }) => items),
    insert: (stores, { team }) =>
      refused(
        stores.tokens.insert({
          team_id: team.id,
          user_id: 0,
          name: "x",
          abilities: [],
          hash: testUuid(),
          expires_at: null,
        }),
      ),
    delete: (stores, { token }) => stores.tokens.delete(token.id),
    isValid: (stores, { token }) => stores.tokens.isValid(token.id, "owner"),
  },
  privateKeys: {
    list: (stores) => stores.privateKeys.list().then(({ items }) => items),
    find: (stores, { key }) => stores.privateKeys.find(key.uuid),
    findById: (stores, { key }) => stores.privateKeys.findById(key.id),
    findByFingerprint: (stores, { key }) => stores.privateKeys.findByFingerprint(key.fingerprint),
    secrets: (stores, { key }) => refused(stores.privateKeys.secrets(key.id)),
    secretsFor: (stores, { key }) => refused(stores.privateKeys.secretsFor(key.id, "app", ["https://git.example"])),
    secretsOf: (stores, { key }) => stores.privateKeys.secretsOf([key.id]).then((secrets) => [...secrets]),
    insert: (stores, { key }) => refused(stores.privateKeys.insert({ ...key, uuid: testUuid(), secrets: SECRETS })),
    update: (stores, { key }) => stores.privateKeys.update(key.uuid, { ...key, secrets: SECRETS }),
    users: (stores, { key }) => stores.privateKeys.users(key.id),
    delete: (stores, { key }) => stores.privateKeys.delete(key.uuid),
  },
  githubApps: {
    list: (stores) => stores.githubApps.list().then(({ items }) => items),
    find: (stores, { githubApp }) => stores.githubApps.find(githubApp.id),
    findByUuid: (stores, { githubApp }) => stores.githubApps.findByUuid(githubApp.uuid),
    insert: (stores, { githubApp }) => refused(stores.githubApps.insert(githubApp, APP_SECRETS)),
    update: async (stores, { githubApp }) => [
      ...((await stores.githubApps.update(githubApp.id, { name: "stolen" }, APP_SECRETS)) === undefined ? [] : [1]),
      ...((await refused(stores.githubApps.update(githubApp.id, { private_key_id: githubApp.private_key_id }, {}))) ===
      REFUSED
        ? []
        : [1]),
    ],
    deleteIfUnused: (stores, { githubApp }) =>
      stores.githubApps.deleteIfUnused(githubApp.id).then((outcome) => outcome !== "missing"),
  },
  projects: {
    list: (stores) => stores.projects.list().then(({ items }) => items),
    find: (stores, { project }) => stores.projects.find(project.uuid),
    insert: (stores, { project }) => refused(stores.projects.insert({ ...project, uuid: project.uuid })),
    update: (stores, { project }) => stores.projects.update(project.uuid, { name: "stolen" }),
    deleteIfEmpty: (stores, { project }) => stores.projects.deleteIfEmpty(project.uuid),
  },
  environments: {
    list: (stores, { project }) => stores.environments.list(project.id).then(({ items }) => items),
    find: (stores, { project }) => stores.environments.find(project.id, "production"),
    findByUuid: (stores, { environment }) => stores.environments.findByUuid(environment.uuid),
    insert: (stores, { project }) =>
      refused(stores.environments.insert({ uuid: testUuid(), project_id: project.id, name: "x", description: null })),
    deleteIfEmpty: (stores, { environment }) => stores.environments.deleteIfEmpty(environment.id),
  },
  servers: {
    list: (stores) => stores.servers.list().then(({ items }) => items),
    find: (stores, { server }) => stores.servers.find(server.uuid),
    findById: (stores, { server }) => stores.servers.findById(server.id),
    insert: (stores, { server }) => refused(stores.servers.insert(server)),
    update: (stores, { server }) => stores.servers.update(server.uuid, { name: "stolen" }),
    // Whether an address is free may be known, but not whose it is.
    isAddressTaken: (stores, { server }) => stores.servers.isAddressTaken(server.ip).then(() => undefined),
    findForUpdate: (stores, { server }) => stores.servers.findForUpdate(server.uuid),
    markRemoving: (stores, { server }) => stores.servers.markRemoving(server.id),
    hosts: (stores, { server }) => stores.servers.hosts(server.id),
  },
  destinations: {
    list: (stores, { server }) => stores.destinations.list({ server_id: server.id }).then(({ items }) => items),
    find: (stores, { destination }) => stores.destinations.find(destination.uuid),
    insert: (stores, { server }) =>
      refused(stores.destinations.insert({ uuid: testUuid(), server_id: server.id, name: "x", network: "x" })),
    update: (stores, { destination }) => stores.destinations.update(destination.uuid, { name: "stolen" }),
    users: (stores, { destination }) => stores.destinations.users(destination.id, 10),
    deleteIfUnused: (stores, { destination }) => stores.destinations.deleteIfUnused(destination.id),
  },
  jobs: {
    list: (stores, { job }) =>
      stores.jobs
        .list({ subject: job.subject_uuid }, { take: 0 })
        .then(({ items, total }) => [...items, ...Array(total)]),
    find: (stores, { job }) => stores.jobs.find(job.uuid),
    request: async (stores, { server, opened }) => {
      const asked = [validation(server), previewRemoval(opened)];
      const answers = await Promise.all(asked.map((job) => refused(stores.jobs.request([job]))));
      return answers.find((answer) => answer !== REFUSED);
    },
  },
  resources: {
    find: (stores, { app }) => stores.resources.find(app),
    summaries: (stores, { app }) => stores.resources.summaries([app.id]),
    listIds: (stores) => stores.resources.listIds().then(({ items }) => items),
    findForUpdate: (stores, { app }) => stores.resources.findForUpdate(app),
    list: (stores, { environment }) =>
      stores.resources
        .list({ environment_id: environment.id }, { take: 0 })
        .then(({ items, total }) => [...items, ...Array(total).keys()]),
    move: (stores, { app, environment }) => stores.resources.move(app.id, environment.id),
    migrate: (stores, { app, destination }) => stores.resources.migrate(app.id, destination.id),
    setDesiredState: (stores, { app }) => stores.resources.setDesiredState(app.id, "running"),
    markRemoving: (stores, { app }) => stores.resources.markRemoving(app.id, { delete_volumes: true }),
    markRemovingOn: (stores, { server }) => stores.resources.markRemovingOn(server.id, { delete_volumes: true }),
    ownAmong: async (stores, { app }) => [...(await stores.resources.ownAmong([app.uuid])).keys()],
    listStaying: (stores, { server }) => stores.resources.listStaying(server.id, 3),
    listStayingIn: (stores, { environment }) => stores.resources.listStayingIn([environment.id], 3),
  },
  applications: {
    list: (stores, { environment }) =>
      stores.applications.list({ environment_id: environment.id }).then(({ items }) => items),
    find: (stores, { app }) => stores.applications.find(app.uuid),
    insert: (stores, place) => refused(testApplication(stores, place)),
    update: (stores, { app }) =>
      stores.applications.update(app.id, { name: "stolen", settings: { git_branch: "x" }, secrets: {} }),
    secrets: (stores, { app }) => refused(stores.applications.secrets(app.id)),
    secretsOf: (stores, { app }) => stores.applications.secretsOf([app.id]).then((secrets) => [...secrets]),
  },
  applicationDestinations: {
    list: (stores, { app }) => stores.applicationDestinations.list(app.id),
    attach: (stores, { app, destination }) => refused(stores.applicationDestinations.attach(app.id, destination.id)),
    detach: (stores, { app, destination }) => stores.applicationDestinations.detach(app.id, destination.id),
    detachServer: (stores, { server }) => stores.applicationDestinations.detachServer(server.id),
  },
  databases: {
    list: (stores, { environment }) =>
      stores.databases.list({ environment_id: environment.id }).then(({ items }) => items),
    find: (stores, { database }) => stores.databases.find(database.uuid),
    insert: (stores, place) => refused(testDatabaseResource(stores, place)),
    update: (stores, { database }) => stores.databases.update(database.id, { name: "stolen", fields: { x: "y" } }),
    secrets: (stores, { database }) => refused(stores.databases.secrets(database.id)),
    secretsOf: (stores, { database }) => stores.databases.secretsOf([database.id]).then((secrets) => [...secrets]),
    giveLoopbackPort: (stores, { database }) => stores.databases.giveLoopbackPort(database.id),
    namedBy: (stores, { app, database }) => stores.databases.namedBy([app.id, database.id], [database.uuid]),
  },
  services: {
    list: (stores, { environment }) =>
      stores.services.list({ environment_id: environment.id }).then(({ items }) => items),
    find: (stores, { service }) => stores.services.find(service.uuid),
    insert: (stores, place) => refused(testService(stores, place)),
    update: (stores, { service }) => stores.services.update(service.id, { name: "stolen", settings: {}, secrets: {} }),
    secrets: (stores, { service }) => refused(stores.services.secrets(service.id)),
    secretsOf: (stores, { service }) => stores.services.secretsOf([service.id]).then((secrets) => [...secrets]),
    containers: (stores, { service }) => stores.services.containers([service.id]),
    findContainer: (stores, { container }) => stores.services.findContainer(container.uuid),
    saveContainers: (stores, { service, container }) =>
      refused(stores.services.saveContainers(service.id, [{ ...container, uuid: testUuid(), image: "stolen" }])),
  },
  backups: {
    list: (stores, { database }) => stores.backups.list(database.id).then(({ items }) => items),
    listOf: (stores, { database }) => stores.backups.listOf([database.id]),
    find: (stores, { database, schedule }) => stores.backups.find(database.id, schedule.uuid),
    insert: (stores, { database }) => refused(stores.backups.insert(database.id, testUuid(), backup)),
    update: (stores, { database, schedule }) =>
      stores.backups.update(database.id, schedule.uuid, { ...backup, frequency: "stolen" }),
    request: (stores, { database, schedule }) => stores.backups.request(database.id, schedule.uuid),
    delete: (stores, { database, schedule }) => stores.backups.delete(database.id, schedule.uuid),
    findExecution: (stores, { schedule, execution }) => stores.backups.findExecution(schedule.id, execution.uuid),
    copies: (stores, { schedule, execution }) => stores.backups.copies(schedule.id, execution.uuid),
    executions: (stores, { schedule }) => stores.backups.executions(schedule.id).then(({ items }) => items),
    newestExecutions: (stores, { schedule }) => stores.backups.newestExecutions([schedule.id], 1),
    requestCancel: (stores, { schedule, execution }) =>
      stores.backups.requestCancel(schedule.id, execution.uuid, new Date()),
    untilEnded: (stores, { schedule, execution }) => stores.backups.untilEnded(schedule.id, execution.uuid, 60),
    deleteExecution: (stores, { schedule, execution }) => stores.backups.deleteExecution(schedule.id, execution.uuid),
  },
  restores: {
    list: (stores, { database }) => stores.restores.list(database.id).then(({ items }) => items),
    find: (stores, { database, restore }) => stores.restores.find(database.id, restore.uuid),
    requestCancel: (stores, { database, restore }) =>
      stores.restores.requestCancel(database.id, restore.uuid, new Date()),
    untilEnded: (stores, { database, restore }) => stores.restores.untilEnded(database.id, restore.uuid, 60),
    isRunning: (stores, { schedule }) => stores.restores.isRunning(schedule.id),
    lastDrills: (stores, { database }) => stores.restores.lastDrills([database.id]),
    oldestBackups: (stores, { database }) => stores.restores.oldestBackups([database.id]).then((all) => [...all]),
    insert: (stores, { database, execution }) => stores.restores.insert(newRestore(database, execution)),
  },
  runs: {
    readings: async (stores, { job }) => {
      const { signal } = new AbortController();
      for await (const run of stores.runs.readings(job.uuid, () => stores.jobs.find(job.uuid), signal)) return run;
      return undefined;
    },
  },
  s3Storages: {
    list: (stores) => stores.s3Storages.list().then(({ items }) => items),
    find: (stores, { bucket }) => stores.s3Storages.find(bucket.uuid),
    insert: (stores, { bucket }) => refused(stores.s3Storages.insert(bucket.uuid, { ...bucket, ...login })),
    update: (stores, { bucket }) => stores.s3Storages.update(bucket.uuid, { name: "stolen", secret: "x" }),
    credentialsOf: (stores, { bucket }) => stores.s3Storages.credentialsOf([bucket.id]).then((all) => [...all]),
    deleteIfUnused: (stores, { bucket }) => stores.s3Storages.deleteIfUnused(bucket.uuid),
  },
  registries: {
    list: (stores) => stores.registries.list().then(({ items }) => items),
    find: (stores, { registry }) => stores.registries.find(registry.uuid),
    insert: (stores, { registry }) => refused(stores.registries.insert(registry.uuid, { ...registry, password: "x" })),
    update: (stores, { registry }) => stores.registries.update(registry.uuid, { name: "stolen", password: "x" }),
    passwordsOf: (stores, { registry }) => stores.registries.passwordsOf([registry.id]).then((all) => [...all]),
    logins: (stores) => stores.registries.logins(),
    delete: (stores, { registry }) => stores.registries.delete(registry.uuid),
  },
  domains: {
    // Whether a host is free may be known; the caller, who knows the team, hides whose it is.
    holders: async (stores, { host, app }) => {
      const [holder] = await stores.domains.holders([claim(host)]);
      return holder?.resource_uuid === app.uuid ? undefined : holder;
    },
    claim: (stores, { app }) =>
      refused(stores.domains.claim(app.id, [claim(`${testUuid()}.test`)], { takeFromOwnTeam: true })),
  },
  previews: {
    list: (stores, { app }) =>
      stores.previews.list(app.id, { take: 0 }).then(({ items, total }) => [...items, ...Array(total).keys()]),
    find: (stores, { app }) => stores.previews.find(app.id, 7),
    open: (stores, { app }) => refused(stores.previews.open(app.id, testUuid(), { pull_request_id: 8 })),
    markRemoving: (stores, { app }) => stores.previews.markRemoving(app.id, 7),
  },
  envs: {
    list: (stores, { app }) => stores.envs.list(app.id).then(({ items }) => items),
    findByKey: (stores, { app }) => stores.envs.findByKey(app.id, env.key, false),
    findByKeys: (stores, { app }) => stores.envs.findByKeys([app.id], [env.key]),
    namingDatabases: (stores, { environment }) => stores.envs.namingDatabases(environment.id),
    insert: (stores, { app }) => refused(stores.envs.insert(app.id, testUuid(), { ...env, key: "STOLEN" })),
    withKeys: (stores, { app }) => stores.envs.withKeys(app.id, [env.key]),
    saveAll: (stores, { app, variable }) =>
      stores.envs.saveAll(app.id, [{ ...env, uuid: variable.uuid, value: "stolen" }]),
    update: (stores, { app, variable }) => stores.envs.update(app.id, variable.uuid, { value: "stolen" }),
    delete: (stores, { app, variable }) => stores.envs.delete(app.id, variable.uuid),
  },
  sharedVariables: {
    alone: (stores, theirs) =>
      ofEach(theirs, (owner) => stores.sharedVariables.alone(owner).then((is) => is || undefined)),
    list: (stores, theirs) =>
      ofEach(theirs, (owner) => stores.sharedVariables.list(owner).then(({ items }) => items[0])),
    findByKey: (stores, theirs) => ofEach(theirs, (owner) => stores.sharedVariables.findByKey(owner, shared.key)),
    insert: (stores, theirs) =>
      ofEach(theirs, (owner) =>
        refused(stores.sharedVariables.insert(owner, testUuid(), { ...shared, key: "STOLEN" })).then((answer) =>
          answer === REFUSED ? undefined : answer,
        ),
      ),
    update: (stores, theirs) =>
      ofEach(theirs, (owner, uuid) => stores.sharedVariables.update(owner, uuid, { value: "stolen" })),
    withKeys: (stores, theirs) =>
      ofEach(theirs, (owner) => stores.sharedVariables.withKeys(owner, [shared.key]).then(([one]) => one)),
    saveAll: (stores, theirs) =>
      ofEach(theirs, (owner, uuid) =>
        stores.sharedVariables.saveAll(owner, [{ ...shared, uuid, value: "stolen" }]).then(([one]) => one),
      ),
    delete: (stores, theirs) =>
      ofEach(theirs, (owner, uuid) => stores.sharedVariables.delete(owner, uuid).then((is) => is || undefined)),
    seenBy: (stores, { app }) =>
      stores.sharedVariables.seenBy(
        [app.id],
        SHARED_SCOPES.map((scope) => ({ scope, key: shared.key })),
      ),
  },
  storages: {
    list: (stores, { app }) => stores.storages.list(app.id).then(({ items }) => items),
    find: (stores, { app, volume }) => stores.storages.find(app.id, volume),
    insert: (stores, { app }) => refused(stores.storages.insert(app.id, testUuid(), storage)),
    update: (stores, { app, volume }) => stores.storages.update(app.id, volume.uuid, { name: "stolen" }),
    delete: (stores, { app, volume }) => stores.storages.delete(app.id, volume.uuid),
    recordVolumes: (stores, { app, volume }) => stores.storages.recordVolumes(app.id, [volume.uuid]),
    ownersAmong: (stores, { volume }) => stores.storages.ownersAmong([volume.uuid]).then((owners) => [...owners]),
  },
  metrics: {
    list: (stores, { app }) => stores.metrics.list(app.id, new Date(0)).then(({ items }) => items),
    listByServer: (stores, { server }) => stores.metrics.listByServer(server.id, new Date(0)),
    newest: (stores) => stores.metrics.newest(new Date(0)).then(({ items }) => items),
    changed: (stores) => stores.metrics.changed(AbortSignal.abort()),
  },
  scheduledTasks: {
    list: (stores, { app }) => stores.scheduledTasks.list(app.id).then(({ items }) => items),
    find: (stores, { app, scheduled }) => stores.scheduledTasks.find(app.id, scheduled.uuid),
    insert: (stores, { app }) => refused(stores.scheduledTasks.insert(app.id, testUuid(), task)),
    update: (stores, { app, scheduled }) => stores.scheduledTasks.update(app.id, scheduled.uuid, { command: "stolen" }),
    delete: (stores, { app, scheduled }) => stores.scheduledTasks.delete(app.id, scheduled.uuid),
    executions: (stores, { scheduled }) =>
      stores.scheduledTasks
        .executions(scheduled.id, { take: 0 })
        .then(({ items, total }) => [...items, ...Array(total).keys()]),
    findExecution: (stores, { scheduled, executed }) => stores.scheduledTasks.findExecution(scheduled.id, executed),
    request: (stores, { app, scheduled }) =>
      refused(stores.scheduledTasks.request(app.id, scheduled.uuid, { uuid: testUuid(), at: new Date() })),
  },
  tags: {
    list: (stores) => stores.tags.list().then(({ items }) => items),
    listByResource: (stores, { app }) => stores.tags.listByResource(app.id).then(({ items }) => items),
    resources: (stores, { label }) => stores.tags.resources(label.name),
    attach: (stores, { app }) => refused(stores.tags.attach(app.id, [{ uuid: testUuid(), name: "stolen" }])),
    detach: (stores, { app, label }) => stores.tags.detach(app.id, label.uuid),
  },
  deployments: {
    listActive: (stores) => stores.deployments.listActive().then(({ items }) => items),
    newestOn: (stores, { app, server }) => stores.deployments.newestOn(app.id, [server.id]),
    newestOf: (stores, { app }) => stores.deployments.newestOf([app.id]),
    listByResource: (stores, { app }) =>
      stores.deployments
        .listByResource(app.id, {}, { take: 0 })
        .then(({ items, total }) => [...items, ...Array(total).keys()]),
    find: (stores, { deployment }) => stores.deployments.find(deployment.uuid),
    steps: (stores, { deployment }) => stores.deployments.steps(deployment.id),
    log: (stores, { deployment }) => stores.deployments.log(deployment.id, {}),
    progress: (stores, { deployment }) => stores.deployments.progress(deployment.uuid, { after: 0, take: 10 }),
    changed: (stores, { deployment }) => stores.deployments.changed(deployment.id, NEVER),
    enqueue: (stores, { app }) => refused(stores.deployments.enqueue([newDeployment(app)])),
    requestCancel: (stores, { deployment }) => stores.deployments.requestCancel(deployment.uuid),
  },
  releases: {
    live: (stores, { app }) => stores.releases.live(liveKeyOf(app)),
    candidate: (stores, { app }) => stores.releases.candidate(liveKeyOf(app)),
    builds: (stores, { app }) => stores.releases.builds(liveKeyOf(app)),
  },
  events: {
    append: (stores) => stores.events.append({ type: "own", resource_uuid: null, payload: {} }),
    list: (stores) => stores.events.list({}).then((events) => events.filter(({ type }) => type !== "own")),
    last: async (stores) => {
      const [last, own] = [await stores.events.last(), (await stores.events.list({})).at(-1)?.id ?? 0];
      return last === own ? undefined : last;
    },
    changed: (stores) => stores.events.changed(AbortSignal.abort()),
  },
  settings: {
    isApiEnabled: (stores) => stores.settings.isApiEnabled().then(() => undefined),
    setApiEnabled: (stores) => stores.settings.setApiEnabled(true),
    reportedVersion: (stores) => stores.settings.reportedVersion().then(() => undefined),
    setReportedVersion: (stores) => stores.settings.setReportedVersion(null),
    signIn: (stores) => stores.settings.signIn().then(() => undefined),
    setSignIn: (stores) => stores.settings.setSignIn({ second_factor_required: false }),
    instanceId: (stores) => stores.settings.instanceId("ours").then(() => undefined),
  },
  logDrains: {
    secrets: (stores, { server }) => stores.logDrains.secrets(server.id),
    save: (stores, { server }) =>
      stores.logDrains.save(server.id, { ...NO_LOG_DRAIN_SECRETS, logdrain_axiom_api_key: "mine" }),
    restart: (stores, { server }) => stores.logDrains.restart(server.id),
  },
  cloudTokens: {
    list: (stores) => stores.cloudTokens.list().then(({ items }) => items),
    find: (stores, { cloudToken }) => stores.cloudTokens.find(cloudToken.uuid),
    insert: (stores, { cloudToken }) =>
      refused(stores.cloudTokens.insert({ ...cloudToken, token: "stolen", url: "https://api.example" })),
    update: (stores, { cloudToken }) => stores.cloudTokens.update(cloudToken.uuid, { name: "stolen" }),
    secret: (stores, { cloudToken }) => stores.cloudTokens.secret(cloudToken.uuid),
    deleteIfUnused: (stores, { cloudToken }) => stores.cloudTokens.deleteIfUnused(cloudToken.uuid),
  },

  // They name no row of another team: each team has one channel of a kind.
  notifications: {
    settings: async (stores) => (await stores.notifications.settings("webhook")).webhook_url ?? [],
    settingsForUpdate: (stores) =>
      stores.transaction(async (tx) => (await tx.notifications.settingsForUpdate("webhook")).webhook_url ?? []),
    save: async (stores) => {
      const settings = { webhook_url: "https://own.example" };
      await stores.notifications.save("webhook", { isEnabled: true, events: ["deployment_failure"], settings });
      return [];
    },
    deliveries: (stores) => stores.notifications.deliveries({}).then(({ items }) => items),
    memberAddresses: async (stores, { team }) => {
      const { items } = await stores.members.list(team.id);
      const addresses = await stores.notifications.memberAddresses();
      return items.filter(({ email }) => addresses.includes(email));
    },
  },
};

async function refused(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    (answer) => answer,
    () => REFUSED,
  );
}

const isNothing = (answer: unknown) =>
  answer === undefined || answer === false || answer === REFUSED || (Array.isArray(answer) && answer.length === 0);

/** All rows of the team, as text. */
async function snapshot({ database }: TestDatabase, teamId: number): Promise<string> {
  const { rows } = await sql`
    select (select jsonb_agg(t order by t.id) from token t where team_id = ${teamId}) as tokens,
      (select jsonb_agg(m order by m.user_id) from team_member m where team_id = ${teamId}) as members,
      (select jsonb_agg(k order by k.id) from private_key k where team_id = ${teamId}) as keys,
      (select jsonb_agg(p order by p.id) from project p where team_id = ${teamId}) as projects,
      (select jsonb_agg(s order by s.id) from server s where team_id = ${teamId}) as servers,
      (select jsonb_agg(j order by j.id) from job j where team_id = ${teamId}) as jobs,
      (select jsonb_agg(c order by c.id) from cloud_token c where team_id = ${teamId}) as cloud_tokens,
      (select jsonb_agg(n order by n.kind) from notification_channel n where team_id = ${teamId}) as channels,
      (select jsonb_agg(r order by r.id) from resource r where team_id = ${teamId}) as resources,
      (select jsonb_agg(d order by d.id) from deployment d where team_id = ${teamId}) as deployments,
      (select jsonb_agg(e order by e.id) from event e where team_id = ${teamId}) as events,
      (select jsonb_agg(e order by e.id) from environment e join project p on p.id = e.project_id
        where p.team_id = ${teamId}) as environments,
      (select jsonb_agg(d order by d.id) from destination d join server s on s.id = d.server_id
        where s.team_id = ${teamId}) as destinations,
      (select jsonb_agg(array[to_jsonb(s), to_jsonb(c)] order by r.id, c.id) from resource r
        left join service s on s.resource_id = r.id left join service_container c on c.resource_id = r.id
        where r.team_id = ${teamId}) as services,
      (select jsonb_agg(array[to_jsonb(a), to_jsonb(e), to_jsonb(s), to_jsonb(d), to_jsonb(l),
          to_jsonb(c), to_jsonb(x), to_jsonb(t), to_jsonb(v)] order by r.id)
        from resource r left join application a on a.resource_id = r.id left join env e on e.resource_id = r.id
        left join storage s on s.resource_id = r.id left join domain d on d.resource_id = r.id
        left join release l on l.resource_id = r.id left join scheduled_task c on c.resource_id = r.id
        left join application_preview v on v.resource_id = r.id
        left join scheduled_task_execution x on x.scheduled_task_id = c.id
        left join resource_tag rt on rt.resource_id = r.id left join tag t on t.id = rt.tag_id where r.team_id = ${teamId}) as children`.execute(
    database.kysely,
  );
  return JSON.stringify(rows);
}

onEachBackend((database) => {
  it("shows and gives nothing of another team through any function of any store", async () => {
    const theirs = await world(database());
    const ours = await testTeam(database());
    const before = await snapshot(database(), theirs.team.id);
    const leaks: string[] = [];
    for (const [store, functions] of Object.entries(ATTEMPTS)) {
      for (const [name, attempt] of Object.entries(functions)) {
        if (!isNothing(await attempt(ours, theirs))) leaks.push(`${store}.${name}`);
      }
    }
    expect(leaks).toEqual([]);
    expect(await snapshot(database(), theirs.team.id)).toBe(before);
  });

  it("shows the same things to their own team", async () => {
    const own = await world(database());
    const answers = {
      project: await own.stores.projects.find(own.project.uuid),
      server: await own.stores.servers.findById(own.server.id),
      destinations: (await own.stores.destinations.list({ server_id: own.server.id })).items,
      application: await own.stores.applications.find(own.app.uuid),
      secrets: await own.stores.applications.secretsOf([own.app.id]).then(({ size }) => size || undefined),
      member: await own.stores.members.find(own.team.id, 0),
      memberTokens: await own.stores.members.tokens(own.team.id, 0),
      githubApp: await own.stores.githubApps.find(own.githubApp.id),
      key: await own.stores.privateKeys.find(own.key.uuid),
      keySecrets: await own.stores.privateKeys.secrets(own.key.id),
      service: await own.stores.services.find(own.service.uuid),
      serviceSecrets: await own.stores.services.secretsOf([own.service.id]).then(({ size }) => size || undefined),
      containers: await own.stores.services.containers([own.service.id]),
      container: await own.stores.services.findContainer(own.container.uuid),
      env: await own.stores.envs.findByKey(own.app.id, env.key, false),
      shared: await own.stores.sharedVariables.seenBy([own.app.id], [{ scope: "server", key: shared.key }]),
      storage: await own.stores.storages.find(own.app.id, own.volume),
      storages: (await own.stores.storages.list(own.app.id)).items,
      task: await own.stores.scheduledTasks.find(own.app.id, own.scheduled.uuid),
      executions: (await own.stores.scheduledTasks.executions(own.scheduled.id)).items,
      tags: (await own.stores.tags.list()).items,
      "its tags": (await own.stores.tags.listByResource(own.app.id)).items,
      deployment: await own.stores.deployments.find(own.deployment.uuid),
      steps: await own.stores.deployments.steps(own.deployment.id),
      log: await own.stores.deployments.log(own.deployment.id, {}),
      release: await own.stores.releases.live(liveKeyOf(own.app)),
      active: (await own.stores.deployments.listActive()).items,
      logDrainSecrets: await own.stores.logDrains.secrets(own.server.id),
      cloudToken: await own.stores.cloudTokens.find(own.cloudToken.uuid),
      cloudSecret: (await own.stores.cloudTokens.secret(own.cloudToken.uuid))?.for("https://api.example"),
    };
    for (const [name, answer] of Object.entries(answers)) expect(isNothing(answer), name).toBe(false);
  });
});
