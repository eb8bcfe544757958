import { SHARED_SCOPES } from "@berth/core/env";
import type { ResourceKind } from "@berth/core/resource";
import { KINDS_WITH_TASKS } from "@berth/core/schedule";
import { CLOUD_PROVIDERS } from "@berth/core/server";
import {
  testBackup,
  testGithubApp,
  testKey,
  testNodeId,
  testPlace,
  testPrivateKey,
  testServer,
  testUuid,
} from "@berth/testing";
import { COMPOSE, createdApplication, createdService, type Served, whereOf } from "./berth.fixture.ts";
import type { ApiOperation, Route } from "./rest/routes.ts";

/** Values of path parameters by the path, or by the parameter in it; for some, by the kind of resource. */
export type Objects = Readonly<Record<string, string>>;

/** The same body for an operation of several kinds. */
const ofKinds = (kinds: readonly ResourceKind[], operationId: string, body: object) =>
  Object.fromEntries(kinds.map((kind) => [operationId.replace("{kind}", kind), body]));

const ofScopes = (operationId: string, body: object) =>
  Object.fromEntries(SHARED_SCOPES.map((scope) => [operationId.replace("{scope}", scope), body]));

const ALL_KINDS = ["application", "service", "database"] as const;

/** Bodies that pass validation, for operations with a path parameter that need one. */
export const EXAMPLE_BODIES: Readonly<Record<string, object>> = {
  "update-project-by-uuid": { name: "Mine now" },
  "create-environment": { name: "mine" },
  "update-team-by-id": { name: "mine" },
  "update-identity-provider": { name: "mine" },
  "update-sign-in-settings": { second_factor_required: true },
  "create-member-by-team-id": { email: "mine@example.com" },
  "update-member-by-team-id": { role: "owner" },
  "update-private-key-by-uuid": { private_key: testKey("mine") },
  updateGithubApp: { name: "mine" },
  "update-server-by-uuid": { name: "mine" },
  "update-server-proxy": { proxy_type: "caddy" },
  "update-server-log-drains": { is_logdrain_newrelic_enabled: true, logdrain_newrelic_license_key: "mine" },
  "join-cluster-by-server-uuid": { manager_uuid: "unknown" },
  "update-node-by-id": { availability: "drain" },
  "create-server-destination": { network: "mine" },
  "update-destination-by-uuid": { name: "mine" },
  "update-application-by-uuid": { name: "mine" },
  "cleanup-server-by-uuid": { dry_run: true },
  "rollback-application-by-uuid": { commit: "abc123" },
  "update-cloud-token-by-uuid": { name: "mine" },
  "create-env-by-application-uuid": { key: "MINE" },
  "update-env-by-application-uuid": { key: "THEIRS", value: "mine" },
  "update-envs-by-application-uuid": { data: [{ key: "MINE" }] },
  "update-service-by-uuid": { name: "mine" },
  "create-env-by-service-uuid": { key: "MINE" },
  "update-env-by-service-uuid": { key: "THEIRS", value: "mine" },
  "update-envs-by-service-uuid": { data: [{ key: "MINE" }] },
  ...ofKinds(KINDS_WITH_TASKS, "create-scheduled-task-by-{kind}-uuid", {
    name: "mine",
    command: "true",
    frequency: "daily",
  }),
  ...ofKinds(KINDS_WITH_TASKS, "update-scheduled-task-by-{kind}-uuid", { name: "mine" }),
  ...ofKinds(ALL_KINDS, "create-tag-by-{kind}-uuid", { tag_name: "mine" }),
  ...ofKinds(ALL_KINDS, "move-{kind}-by-uuid", { environment_uuid: "unknown" }),
  "migrate-application-by-uuid": { destination_uuid: "unknown" },
  "add-application-destination": { destination_uuid: "unknown" },
  "update-database-by-uuid": { name: "mine" },
  "run-database-client-by-uuid": { statements: "select 1" },
  "attach-database-by-uuid": { resource_uuid: "unknown" },
  "create-database-backup": { frequency: "daily" },
  "update-database-backup": { enabled: false },
  "restore-database-backup": { database_name: "postgres" },
  "update-s3-storage-by-uuid": { name: "mine" },
  "update-registry-by-uuid": { name: "mine" },
  "update-settings": { reported_version: "4.1.0" },
  "create-env-by-database-uuid": { key: "MINE" },
  "update-env-by-database-uuid": { key: "THEIRS", value: "mine" },
  "update-envs-by-database-uuid": { data: [{ key: "MINE" }] },
  ...ofScopes("create-shared-variable-by-{scope}", { key: "MINE" }),
  ...ofScopes("update-shared-variable-by-{scope}", { key: "THEIRS", value: "mine" }),
  ...ofScopes("update-shared-variables-by-{scope}", { data: [{ key: "MINE" }] }),
  ...ofKinds(ALL_KINDS, "create-storage-by-{kind}-uuid", { type: "persistent", name: "mine", mount_path: "/mine" }),
  "create-storage-by-service-uuid": { type: "persistent", name: "mine", mount_path: "/mine", resource_uuid: "x" },
  ...ofKinds(ALL_KINDS, "update-storage-by-{kind}-uuid", { uuid: "x", name: "mine" }),
};

/** Bodies of creations without the place; with it they are valid. */
const CREATIONS: Readonly<Record<string, object>> = {
  "create-public-application": {
    git_repository: "https://git.example/a/b.git",
    git_branch: "main",
    build_pack: "nixpacks",
  },
  "create-private-deploy-key-application": {
    git_repository: "git@git.example:a/b.git",
    git_branch: "main",
    build_pack: "nixpacks",
    private_key_uuid: "unknown",
  },
  "create-private-github-app-application": {
    git_repository: "team/hello",
    git_branch: "main",
    build_pack: "nixpacks",
    github_app_uuid: "unknown",
  },
  "create-github-app": {
    name: "mine",
    api_url: "https://api.github.test",
    html_url: "https://github.test",
    app_id: 1,
    installation_id: 1,
    client_id: "Iv1.1",
    client_secret: "secret",
    webhook_secret: "secret",
    private_key_uuid: "unknown",
  },
  "create-dockerfile-application": { dockerfile: "FROM scratch" },
  "create-dockercompose-application": { docker_compose_raw: COMPOSE },
  "create-dockerimage-application": { docker_registry_image_name: "nginx" },
  "create-project": { name: "mine" },
  "create-cloud-token": { name: "mine", provider: "hetzner", token: "t0ken" },
  "create-hetzner-server": {
    cloud_provider_token_uuid: "unknown",
    location: "fsn1",
    server_type: "cx22",
    image: 1,
    private_key_uuid: "unknown",
  },
  "create-one-click-service": { type: "notes" },
  "create-service": { docker_compose: COMPOSE },
  "create-s3-storage": {
    ...{ name: "mine", endpoint: "https://s3.example", bucket: "mine", region: "eu", key: "key", secret: "secret" },
  },
  "create-registry": { address: "ghcr.io", username: "me", password: "secret" },
  "create-private-key": { private_key: testKey("new") },
  "create-team": { name: "mine" },
  "create-identity-provider": { name: "mine", kind: "github", client_id: "mine", client_secret: "mine" },
  "create-token": { name: "mine", abilities: ["read"] },
};

/** A valid body for an operation; `{}` for one without a body. */
export function exampleBody({ where }: Pick<Served, "where">, { options, input }: ApiOperation): object {
  const shape = input?.shape ?? {};
  const place = Object.fromEntries(Object.entries(where).filter(([key]) => key in shape));
  return { ...place, ...CREATIONS[options.operationId], ...EXAMPLE_BODIES[options.operationId] };
}

/** The same API with a place and a token of the root team, to which an instance's own machine belongs. */
export async function asRootTeam(api: Served): Promise<Served> {
  const stores = api.db.stores();
  const place = await testPlace(stores);
  const token = api.rootToken;
  return {
    ...{ ...api, stores, place, token, where: whereOf(place) },
    ask: (method, path, options) => api.ask(method, path, { token, ...options }),
  };
}

/** Creates one object of the team for every path parameter. */
export async function madeObjects(api: Served): Promise<Objects> {
  const application = await createdApplication(api, { instant_deploy: true });
  const { json } = await api.ask("GET", `/deployments/applications/${application}`);
  const { id = 0 } = (await api.stores.applications.find(application)) ?? {};
  await api.stores.previews.open(id, testUuid(), { pull_request_id: 7 });
  const several = await createdApplication(api);
  const { destination: attached } = await testServer(api.stores);
  const { id: severalId = 0 } = (await api.stores.applications.find(several)) ?? {};
  await api.stores.applicationDestinations.attach(severalId, attached.id);
  const { json: validation } = await api.ask("POST", `/servers/${api.where.server_uuid}/validate`);
  const tokens = await api.ask("GET", "/tokens");
  const service = await createdService(api);
  const cloudToken = await api.stores.cloudTokens.insert({
    uuid: testUuid(),
    provider: "hetzner",
    name: "cloud",
    token: "t0ken",
    url: CLOUD_PROVIDERS.hetzner.url,
  });
  const backup = await madeBackup(api);
  const githubApp = await testGithubApp(api.stores);
  const login = { name: "theirs", description: null, address: "registry.example.com", username: "me", password: "p" };
  const registry = await api.stores.registries.insert(testUuid(), login);
  const provider = await api.db.system.identities.insertProvider({
    ...{ uuid: testUuid(), name: "theirs", kind: "github", issuer: "https://github.com" },
    ...{ client_id: "theirs", client_secret: "theirs", sign_up: "closed", sign_up_domains: "", team_id: null },
    ...{ groups_claim: "groups", group_roles: [] },
  });
  const user = await createdService(api);
  const reference = `{{ database.${backup["/databases/{uuid}"]}.url }}`;
  await api.ask("POST", `/services/${user}/envs`, { body: { key: "DATABASE_URL", value: reference } });
  return {
    ...backup,
    ...(await madeSharedVariables(api)),
    ...(await madeChildren(api, "applications", application)),
    ...(await madeChildren(api, "services", service)),
    ...(await madeChildren(api, "databases", backup["/databases/{uuid}"] ?? "")),
    "/applications/{uuid}": application,
    "/services/{uuid}": service,
    "/deployments/services/{uuid}": user,
    "databases{resource_uuid}": user,
    "/deployments/applications/{uuid}": application,
    "/deployments/{uuid}": json.deployments[0].deployment_uuid,
    "/destinations/{uuid}": api.place.destination.uuid,
    "/applications/{uuid}/destinations": several,
    "applications{destination_uuid}": attached.uuid,
    "/jobs/{uuid}": validation.job_uuid,
    "/cloud-tokens/{uuid}": cloudToken.uuid,
    "/github-apps/{github_app_id}": String(githubApp.id),
    "/registries/{uuid}": registry.uuid,
    "/identity-providers/{uuid}": provider.uuid,
    "/projects/{uuid}": api.where.project_uuid,
    "/security/keys/{uuid}": (await testPrivateKey(api.stores)).uuid,
    "/servers/{uuid}": api.where.server_uuid,
    "/teams/{id}": String(api.place.server.team_id),
    "/tokens/{id}": String(tokens.json[0].id),
    "{user_id}": "0",
    "{node_id}": testNodeId(api.where.server_uuid),
    "{pull_request_id}": "7",
    "{owner}": "team",
    "{repo}": "hello",
    "{environment_name_or_uuid}": api.place.environment.uuid,
  };
}

async function madeSharedVariables({ ask, where }: Served): Promise<Objects> {
  const made = async (owner: string) => {
    const { json } = await ask("POST", `${owner}/shared-variables`, { body: { key: "THEIRS", value: "1" } });
    return json.uuid as string;
  };
  return {
    "/teams/current/shared-variables/{variable_uuid}": await made("/teams/current"),
    "projects{variable_uuid}": await made(`/projects/${where.project_uuid}`),
    "servers{variable_uuid}": await made(`/servers/${where.server_uuid}`),
  };
}

/** Creates one object of everything that a resource of this kind may have. */
async function madeChildren(api: Served, kind: string, uuid: string): Promise<Objects> {
  const make = async (path: string, body?: object) => {
    const { status, json } = await api.ask("POST", `/${kind}/${uuid}/${path}`, body && { body });
    if (status >= 300) throw new Error(`It was not made: ${path} ${JSON.stringify(json)}`);
    return json;
  };
  const { json: found } = await api.ask("GET", `/${kind}/${uuid}`);
  const container = kind === "services" ? { resource_uuid: found.applications[0].uuid } : {};
  const env = await make("envs", { key: "THEIRS", value: "1" });
  const storage = await make("storages", { type: "file", mount_path: "/theirs", content: "1", ...container });
  const [tag] = await make("tags", { tag_name: "theirs" });
  const made = { "{env_uuid}": env.uuid, "{storage_uuid}": storage.uuid, "{tag_uuid}": tag.uuid };
  if (kind === "databases") return ofKind(kind, made);
  const task = await make("scheduled-tasks", { name: "theirs", command: "true", frequency: "daily" });
  const run = await make(`scheduled-tasks/${task.uuid}/run`);
  return ofKind(kind, { ...made, "{task_uuid}": task.uuid, "{task_execution_uuid}": run.execution_uuid });
}

const ofKind = (kind: string, objects: Objects): Objects =>
  Object.fromEntries(Object.entries(objects).map(([parameter, uuid]) => [`${kind}${parameter}`, uuid]));

async function madeBackup({ db, stores, place }: Served): Promise<Objects> {
  const { schedule, database, execution, storage } = await testBackup(db, stores, place);
  const restore = await stores.restores.insert({
    ...{ uuid: testUuid(), kind: "drill", database_name: null, backup_execution_id: execution.id },
    ...{ resource_id: database.id, target_resource_id: database.id },
  });
  return {
    "/databases/{uuid}": database.uuid,
    "/deployments/databases/{uuid}": database.uuid,
    "/s3-storages/{uuid}": storage.uuid,
    "{scheduled_backup_uuid}": schedule.uuid,
    "{execution_uuid}": execution.uuid,
    "{restore_uuid}": restore?.uuid ?? "",
  };
}

/** The route's path with its parameters filled in. The longest matching path determines the first one. */
export function pathOf({ path }: Pick<Route, "path">, objects: Objects): string {
  const prefix = Object.keys(objects)
    .filter((key) => key.startsWith("/") && (path === key || path.startsWith(`${key}/`)))
    .sort((a, b) => b.length - a.length)[0];
  if (prefix === undefined && /\{\w+\}/.test(path)) throw new Error(`Name an object for ${path} in madeObjects.`);
  const own = prefix === undefined ? path : path.replace(prefix, prefix.replace(/\{\w+\}/, objects[prefix] ?? ""));
  return own.replace(/\{\w+\}/g, (parameter) => {
    const value = objects[`${path.split("/")[1]}${parameter}`] ?? objects[parameter];
    if (value === undefined) throw new Error(`Name an object for ${parameter} in madeObjects.`);
    return value;
  });
}
