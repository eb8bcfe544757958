import { randomBytes } from "node:crypto";
import { ApplicationSecrets, ApplicationSettings, type ApplicationSource } from "@berth/core/application";
import type {
  ApplicationRecord,
  DestinationRecord,
  EnvironmentRecord,
  GithubAppFields,
  GithubAppRecord,
  GithubAppSecrets,
  NewDeployment,
  PrivateKeyRecord,
  ProjectRecord,
  ServerRecord,
  Stores,
} from "@berth/core/ports";
import { ServerSettings } from "@berth/core/server";
import { ServiceSecrets, ServiceSettings } from "@berth/core/service";
import type { TestDatabase } from "./database.ts";
import { testKey, testKeyReader } from "./key-reader.ts";

/** In the format of `Ids.uuid`: 24 characters, the first a letter. */
export const testUuid = (): string => `t${randomBytes(12).toString("hex").slice(1)}`;

/** A new team, so that a test does not see the data of others in the same database. */
export async function testTeam(database: TestDatabase): Promise<Stores> {
  const team = await database.stores().teams.insert({ name: "Team", description: null });
  return database.stores(team.id);
}

export interface TestPlace {
  readonly project: ProjectRecord;
  readonly environment: EnvironmentRecord;
  readonly server: ServerRecord;
  readonly destination: DestinationRecord;
}

/** A project with an environment, and a server with a destination. */
export async function testPlace(stores: Stores, settings: Partial<ServerSettings> = {}): Promise<TestPlace> {
  const project = await stores.projects.insert({ uuid: testUuid(), name: "Shop", description: null });
  const environment = await stores.environments.insert({
    uuid: testUuid(),
    project_id: project.id,
    name: "production",
    description: null,
  });
  const { server, destination } = await testServer(stores, settings);
  return { project, environment, server, destination };
}

export async function testServer(
  stores: Stores,
  settings: Partial<ServerSettings> = {},
): Promise<Pick<TestPlace, "server" | "destination">> {
  const server = await stores.servers.insert({
    uuid: testUuid(),
    name: "localhost",
    description: null,
    ip: "127.0.0.1",
    port: 22,
    user: "root",
    engine: "process",
    proxy_type: "none",
    settings: ServerSettings.parse({ is_reachable: true, is_usable: true, ...settings }),
  });
  const destination = await stores.destinations.insert({
    uuid: testUuid(),
    server_id: server.id,
    name: "berth",
    network: "berth",
  });
  return { server, destination };
}

/** @param text A real key, if something connects with it. */
export async function testPrivateKey(stores: Stores, text: string = testKey(testUuid())): Promise<PrivateKeyRecord> {
  const { publicKey, fingerprint } = await testKeyReader.read(testKey(text));
  return await stores.privateKeys.insert({
    uuid: testUuid(),
    name: "deploy key",
    description: null,
    public_key: publicKey,
    fingerprint,
    is_http_basic_auth_enabled: false,
    http_basic_auth_username: null,
    secrets: { private_key: text, ssh_key: text, http_basic_auth_password: null },
  });
}

export async function testApplication(
  stores: Stores,
  { environment, server, destination }: Pick<TestPlace, "environment" | "server" | "destination">,
  options: {
    readonly name?: string;
    readonly source?: ApplicationSource;
    readonly github_app?: { readonly id: number; readonly repository_id: number };
    readonly settings?: Partial<ApplicationSettings>;
    readonly secrets?: Partial<ApplicationSecrets>;
  } = {},
): Promise<ApplicationRecord> {
  return await stores.applications.insert({
    uuid: testUuid(),
    environment_id: environment.id,
    server_id: server.id,
    destination_id: destination.id,
    name: options.name ?? "hello",
    description: null,
    source: options.source ?? "git",
    github_app: options.github_app,
    settings: ApplicationSettings.parse({ build_pack: "nixpacks", ...options.settings }),
    secrets: ApplicationSecrets.parse({ ...options.secrets }),
  });
}

/** A service with these containers, all of type application. */
export async function testService(
  stores: Stores,
  { environment, server, destination }: Pick<TestPlace, "environment" | "server" | "destination">,
  names: readonly string[] = ["web"],
) {
  const service = await stores.services.insert({
    uuid: testUuid(),
    environment_id: environment.id,
    server_id: server.id,
    destination_id: destination.id,
    name: "shop",
    description: null,
    service_type: null,
    settings: ServiceSettings.parse({}),
    secrets: ServiceSecrets.parse({}),
  });
  const containers = await stores.services.saveContainers(
    service.id,
    names.map((name) => ({
      uuid: testUuid(),
      kind: "application",
      name,
      image: "nginx",
      ports: null,
      exposes: null,
      exclude_from_status: false,
      port: null,
    })),
  );
  return { service, containers };
}

/** A deployment for `enqueue`, with a new commit each time. */
export function newDeployment(
  application: Pick<ApplicationRecord, "id" | "server_id" | "destination_id">,
  fields: Partial<NewDeployment> = {},
): NewDeployment {
  return {
    uuid: testUuid(),
    resource_id: application.id,
    server_id: application.server_id,
    destination_id: application.destination_id,
    pull_request_id: 0,
    commit: randomBytes(20).toString("hex"),
    force_rebuild: false,
    restart_only: false,
    keeps_unchanged: false,
    rollback: false,
    rollback_to: null,
    follows: null,
    is_webhook: false,
    is_api: true,
    git_type: null,
    docker_registry_image_tag: null,
    is_instant: false,
    ...fields,
  };
}

/** A GitHub app with a new private key. */
export async function testGithubApp(
  stores: Stores,
  { secrets, ...fields }: Partial<GithubAppFields> & { readonly secrets?: Partial<GithubAppSecrets> } = {},
): Promise<GithubAppRecord> {
  const app = {
    name: "Berth",
    organization: "team",
    api_url: "https://api.github.test",
    html_url: "https://github.test",
    custom_user: "git",
    custom_port: 22,
    app_id: 4711,
    installation_id: 815,
    client_id: "Iv1.0123456789abcdef",
    is_system_wide: false,
    private_key_id: fields.private_key_id ?? (await testPrivateKey(stores)).id,
    ...fields,
  };
  return await stores.githubApps.insert(app, {
    client_secret: "client secret",
    webhook_secret: "webhook secret",
    ...secrets,
  });
}
