import type { Role } from "@berth/core/team";
import { testKey, testPrivateKey, testUuid } from "@berth/testing";
import { hashOfSecret } from "./auth.ts";
import type { Served } from "./berth.fixture.ts";
import { OWN_PAGE } from "./browser.fixture.ts";
import { exampleBody, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
import { type Extra, OPERATOR } from "./operation-options.ts";
import type { Permission } from "./permission.ts";
import { routesOf } from "./rest/routes.ts";

/** A team with one object of every kind, and the objects that requests with extra requirements name. */
export interface World {
  readonly api: Pick<Served, "where">;
  readonly objects: Objects;
  readonly teamId: number;
  readonly privateKey: string;
  readonly githubApp: string;
  readonly cloudToken: string;
  /** By the plural of the owner's kind. */
  readonly storages: Readonly<Record<string, string>>;
  readonly container: string;
  /** Users without a token, by role. */
  readonly users: Readonly<Record<Role, string>>;
  /** An administrator with a token that may deploy. */
  readonly userWithToken: string;
  /** A server on another machine; the one among the objects is Berth's own. */
  readonly remoteServer: string;
  readonly environmentVariable: string;
  /** Ids of tokens with the ability to write, and to deploy. */
  readonly tokens: { readonly write: string; readonly deploy: string };
}

/** An address that counts as Berth's own machine. */
export const OWN_ADDRESS = "192.0.2.7";
export const POWERFUL_COMPOSE = "services:\n  web:\n    image: nginx:1.27\n    privileged: true\n";

export async function madeWorld(api: Served): Promise<World> {
  const objects = await madeObjects(api);
  const { db, stores, place } = api;
  const teamId = place.server.team_id;
  const user = async (role: Role) => {
    const { id } = await db.stores().members.insert(teamId, { email: `${testUuid()}@example.com`, name: "x", role });
    return String(id);
  };
  const tokenOf = async (user_id: number, ability: "write" | "deploy") => {
    const named = { team_id: teamId, user_id, name: "x", abilities: [ability], expires_at: null };
    return String((await stores.tokens.insert({ ...named, hash: hashOfSecret(testUuid()) })).id);
  };
  const { json: service } = await api.ask("GET", `/services/${objects["/services/{uuid}"]}`);
  const container: string = service.applications[0].uuid;
  const storages: Record<string, string> = {};
  for (const kind of ["applications", "services", "databases"]) {
    const body = { type: "persistent", name: "kept", mount_path: "/kept" };
    const { json } = await api.ask("POST", `/${kind}/${objects[`/${kind}/{uuid}`]}/storages`, {
      body: kind === "services" ? { ...body, resource_uuid: container } : body,
    });
    storages[kind] = json.uuid;
  }
  const githubApp = await stores.githubApps.find(Number(objects["/github-apps/{github_app_id}"]));
  const userWithToken = await user("admin");
  const { json: variable } = await api.ask("POST", `${environmentPath(objects)}/shared-variables`, {
    body: { key: "THEIRS", value: "1" },
  });
  const { uuid: privateKey } = await testPrivateKey(stores);
  const { json: remote } = await api.ask("POST", "/servers", {
    body: { name: "remote", ip: `${testUuid()}.example`, private_key_uuid: privateKey },
  });
  return {
    api,
    objects,
    teamId,
    privateKey,
    githubApp: githubApp?.uuid ?? "",
    cloudToken: objects["/cloud-tokens/{uuid}"] ?? "",
    storages,
    container,
    users: { owner: await user("owner"), admin: await user("admin"), member: await user("member") },
    userWithToken,
    remoteServer: remote.uuid,
    environmentVariable: variable.uuid,
    tokens: { write: await tokenOf(0, "write"), deploy: await tokenOf(Number(userWithToken), "deploy") },
  };
}

const environmentPath = (objects: Objects): string =>
  `/projects/${objects["/projects/{uuid}"]}/environments/${objects["{environment_name_or_uuid}"]}`;

/** A request for an operation that names only existing objects, so that its result depends on the caller's rights. */
export function requestOf(world: World, { operation }: Permission, extra: Extra | undefined) {
  const [route] = routesOf(operation);
  if (route === undefined) throw new Error(`${operation.name} has no route.`);
  const { operationId } = operation.options;
  const named = {
    "/tokens/{id}": world.tokens.write,
    "{user_id}": world.users.member,
    ...(operation.options.extras?.includes(OPERATOR.cluster) ? { "/servers/{uuid}": world.remoteServer } : {}),
    ...(operationId === "delete-shared-variable-by-environment"
      ? { "projects{variable_uuid}": world.environmentVariable }
      : {}),
  };
  const asked = extra === undefined ? {} : extraOf(world, operation.options.operationId, extra);
  const path = pathOf(route, { ...world.objects, ...named, ...asked.objects });
  const fields = { ...exampleBody(world.api, operation), ...referencesOf(world)[operationId], ...asked.body };
  const inQuery = (key: string) => route.queryKeys.some((query) => query.key === key);
  const asText = ([key, value]: [string, unknown]): [string, string] => [key, String(value)];
  const query = new URLSearchParams(
    Object.entries(fields)
      .filter(([key]) => inQuery(key))
      .map(asText),
  );
  const inBody = Object.entries(fields).filter(([key]) => !inQuery(key));
  return {
    method: route.method,
    url: `/api/v1${path}${query.size > 0 ? `?${query}` : ""}`,
    ...(route.body === "required" || inBody.length > 0 ? { payload: Object.fromEntries(inBody) } : {}),
    ...(route.body === "upload" && { payload: Buffer.from("x") }),
    // Passkeys are for the page that asks, which a browser names.
    headers: { ...OWN_PAGE, ...(route.body === "upload" && { "content-type": "application/gzip" }) },
  };
}

/** Fields with other objects of the team that an operation requires, by operation. */
const referencesOf = (world: World): Readonly<Record<string, object>> => {
  const cloud = { cloud_provider_token_uuid: world.cloudToken };
  const key = { private_key_uuid: world.privateKey };
  const place = { environment_uuid: world.objects["{environment_name_or_uuid}"] };
  return {
    "create-github-app": key,
    "create-private-deploy-key-application": key,
    "create-private-github-app-application": { github_app_uuid: world.githubApp },
    "create-server": { ...key, ip: "192.0.2.99" },
    "create-hetzner-server": { ...key, ...cloud },
    "update-private-key": { uuid: world.privateKey, private_key: testKey("mine") },
    "deploy-by-tag-or-uuid": { uuid: world.objects["/applications/{uuid}"] },
    "get-hetzner-locations": cloud,
    "get-hetzner-server-types": cloud,
    "get-hetzner-images": cloud,
    "get-hetzner-ssh-keys": cloud,
    "attach-database-by-uuid": { resource_uuid: world.objects["/applications/{uuid}"] },
    "migrate-application-by-uuid": { destination_uuid: world.objects["/destinations/{uuid}"] },
    "add-application-destination": { destination_uuid: world.objects["/destinations/{uuid}"] },
    "move-application-by-uuid": place,
    "move-service-by-uuid": place,
    "move-database-by-uuid": place,
    "create-storage-by-service-uuid": { resource_uuid: world.container },
    "update-storage-by-application-uuid": { uuid: world.storages.applications },
    "update-storage-by-service-uuid": { uuid: world.storages.services },
    "update-storage-by-database-uuid": { uuid: world.storages.databases },
    "create-token": { abilities: ["write"] },
    "update-member-by-team-id": { role: "member" },
  };
};

interface Asked {
  readonly objects?: Objects;
  readonly body?: object;
}

/** A request that needs the extra: by the extra's text, and by operation where that differs. */
function extraOf(world: World, operationId: string, extra: Extra): Asked {
  const { users, tokens, userWithToken, objects } = world;
  const ownServer = objects["/servers/{uuid}"] ?? "";
  const asked: Readonly<Record<string, Asked>> = {
    "`instant_deploy`": { body: { instant_deploy: true } },
    "an address of Berth's own machine": { body: { ip: OWN_ADDRESS } },
    "folders of Berth's own machine": {
      body: operationId.includes("storage") ? { host_path: "/srv" } : { git_repository: "file:///srv/hello" },
    },
    "privileges on Berth's own machine": { body: POWERS[operationId] ?? { custom_docker_run_options: "--privileged" } },
    "a cluster with Berth's own machine": {
      ...(operationId.startsWith("join")
        ? { body: { manager_uuid: ownServer } }
        : { objects: { "/servers/{uuid}": ownServer } }),
    },
    "an owner": { objects: { "{user_id}": users.owner }, body: OWNERS[operationId] ?? {} },
    "a new owner": { body: { role: "owner" } },
    "a role above `member`": { objects: { "{user_id}": users.member }, body: { role: "admin" } },
    "a token of the user": { objects: { "{user_id}": userWithToken }, body: DEMOTIONS[operationId] ?? {} },
    "the token that is made": { body: { abilities: ["deploy"] } },
    "the token that is revoked": { objects: { "/tokens/{id}": tokens.deploy } },
    "another team's `team_id`": { body: { team_id: world.teamId + 1 } },
  };
  const found = asked[extra.for];
  if (found === undefined) throw new Error(`Say in this fixture what asks for ${extra.for}.`);
  return found;
}

const POWERS: Readonly<Record<string, object>> = {
  "create-service": { docker_compose: POWERFUL_COMPOSE },
  "create-one-click-service": { type: "powerful" },
  "create-dockercompose-application": { docker_compose_raw: POWERFUL_COMPOSE },
  "update-service-by-uuid": { docker_compose: POWERFUL_COMPOSE },
};
const OWNERS: Readonly<Record<string, object>> = {
  "update-member-by-team-id": { role: "admin" },
};
const DEMOTIONS: Readonly<Record<string, object>> = { "update-member-by-team-id": { role: "member" } };
