import { generateKeyPairSync } from "node:crypto";
import { hostileValues, sshKeyPair, type TestRepository } from "@berth/testing";
import { createApplication, deploy, outcomeOf, placeOf } from "../../server/e2e/applications.fixture.ts";
import type { TestServer } from "../../server/e2e/server.fixture.ts";
import type { PagedObjects } from "./all-pages.fixture.ts";
import { PASSWORD } from "./browser.fixture.ts";

/** Scripts in the forms in which a page could run them: set `hacked` on `window`, or open a dialog. */
const TEXTS = [
  `"><img src=x onerror="window.hacked=1">`,
  "<script>window.hacked=1</script>",
  "'><svg onload=window.hacked=1>",
  "</textarea></style></title><iframe srcdoc='<script>top.hacked=1</script>'></iframe>",
  "\u202Egnp.exe<details open ontoggle=window.hacked=1>",
];
/** Of names and descriptions, from which the server removes whole tags. A page that follows such a name would end its tag. */
const NAMES = [
  `"><img src=x onerror=window.hacked=1 x`,
  "javascript:window.hacked=alert(1)",
  "{{constructor.constructor('window.hacked=1')()}}",
  `" autofocus onfocus="window.hacked=1`,
  "&lt;img src=x onerror=window.hacked=1&gt;",
];
/** Of paths and logins, which have no colons. */
const PATHS = [`"><img src=x onerror="window.hacked=1">`, "'><svg onload=window.hacked=1>"];
/** What names and descriptions of projects and environments may contain. */
const PROJECT_NAMES = ["javascript:alert(1)//", "&lt img src&#61x onerror&#61alert(1)"];
const PROJECT_DESCRIPTION = `" autofocus onfocus="window.hacked=1" x="`;

/** Chooses hostile texts for fields, and knows which field has which. */
class Planted {
  readonly texts: Record<string, string> = {};
  plant(field: string, choices: readonly string[]): string {
    const number = Object.keys(this.texts).length;
    // The number makes each text unlike all others.
    const text = `f${number}x${choices[number % choices.length]}`;
    this.texts[field] = text;
    return text;
  }
  text = (field: string): string => this.plant(field, TEXTS);
  name = (field: string): string => this.plant(field, NAMES);
  path = (field: string): string => this.plant(field, PATHS);
  projectName = (field: string): string => this.plant(field, PROJECT_NAMES);
  projectDescription = (field: string): string => this.plant(field, [PROJECT_DESCRIPTION]);
}

export interface HostileObjects {
  /** Stored text by field, such as `registry.name`. */
  readonly texts: Readonly<Record<string, string>>;
  readonly objects: PagedObjects;
}

/**
 * Stores a hostile text in every free-text field of every kind of object.
 * @param cloudToken A token that the cloud knows.
 */
export async function plantHostileObjects(
  server: TestServer,
  repository: TestRepository,
  cloudToken: string,
): Promise<HostileObjects> {
  const planted = new Planted();
  await plantUser(server, planted);
  await plantTeam(server, planted, cloudToken);
  const place = await plantPlace(server, planted);
  await plantCorpus(server, planted, place.server_uuid);
  const application = await plantApplication(server, planted, repository, place);
  const others = await plantResources(server, planted, place);
  const { project_uuid: project, server_uuid: machine } = place;
  return { texts: planted.texts, objects: { project, machine, ...application, ...others } };
}

/** Objects of which the typed client accepts less than the API. */
async function created({ rest }: TestServer, path: string, fields: unknown): Promise<void> {
  const { status, body } = await rest("POST", path, fields);
  if (status !== 201) throw new Error(`Not created: ${status} ${JSON.stringify(body)}`);
}

/** A session of the own user, from a browser that describes itself by a hostile text, and with a hostile name. */
async function plantUser({ client, url }: TestServer, { text, name }: Planted): Promise<void> {
  const { code } = await client.auth.createLink.mutate({});
  const headers = { "content-type": "application/json", origin: url, "user-agent": text("session.device") };
  const body = JSON.stringify({ code, password: PASSWORD });
  const redeemed = await fetch(`${url}/api/v1/auth/links/redeem`, { method: "POST", headers, body });
  const cookie = redeemed.headers
    .getSetCookie()
    .map((set) => set.split(";", 1)[0])
    .join("; ");
  const { key } = (await redeemed.json()) as { readonly key: string }; // as the API describes
  const renamed = await fetch(`${url}/api/v1/auth/user`, {
    method: "PATCH",
    headers: { ...headers, cookie, "x-berth-session-key": key },
    body: JSON.stringify({ name: name("user.name") }),
  });
  if (!renamed.ok) throw new Error(`Not renamed: ${await renamed.text()}`);
}

async function plantTeam({ client }: TestServer, { text, name, path }: Planted, cloudToken: string): Promise<void> {
  const { id } = await client.teams.current.query();
  await client.teams.update.mutate({ id, name: name("team.name"), description: name("team.description") });
  await client.teams.members.add.mutate({
    id,
    email: "mallory@example.com",
    name: name("member.name"),
    role: "member",
  });
  await client.tokens.create.mutate({ name: name("token.name"), abilities: ["read"] });
  const key = await client.privateKeys.create.mutate({
    ...{ name: name("key.name"), description: name("key.description"), private_key: rsaKey() },
  });
  await client.registries.create.mutate({
    ...{ name: name("registry.name"), description: name("registry.description") },
    ...{
      address: "registry.example.com",
      username: path("registry.username"),
      password: "hunter2",
    },
  });
  await client.s3Storages.create.mutate({
    ...{ name: name("s3.name"), description: name("s3.description"), endpoint: "https://s3.example.com" },
    ...{ bucket: "backups", region: "eu", key: "AKIA", secret: "hush" },
  });
  await client.cloudTokens.create.mutate({ provider: "hetzner", token: cloudToken, name: name("cloud.name") });
  await client.githubApps.create.mutate({
    ...{ name: name("github.name"), html_url: "https://github.example.com", app_id: 1, installation_id: 1 },
    ...{ client_id: name("github.client_id"), client_secret: "hush", webhook_secret: "hush" },
    ...{ private_key_uuid: key.uuid, custom_user: name("github.custom_user") },
  });
  await client.identityProviders.create.mutate({
    ...{ name: name("provider.name"), kind: "oidc", issuer: "https://login.example.com" },
    ...{ client_id: name("provider.client_id"), client_secret: "hush", groups_claim: name("provider.groups_claim") },
  });
  await client.sharedVariables.team.create.mutate({
    ...{ key: "TEAM", value: text("team-variable.value"), comment: text("team-variable.comment") },
  });
  await client.notifications.email.update.mutate({ smtp_from_name: name("email.from_name") });
}

/** Also what the corpus has besides scripts, in two lists that are short enough to be drawn as a whole. */
async function plantCorpus({ client }: TestServer, planted: Planted, machine: string): Promise<void> {
  // No database stores NUL or half a character as text.
  const storable = hostileValues("MARKER").filter(({ value }) => !value.includes("\0") && value.isWellFormed());
  const variables = storable.map(({ kind, value }, index) => {
    const key = `${index % 2 === 0 ? "TEAM" : "MACHINE"}_${kind}_${index}`;
    return { key, value: planted.plant(key, [value]) };
  });
  const begunBy = (prefix: string) => variables.filter(({ key }) => key.startsWith(prefix));
  await client.sharedVariables.team.updateBulk.mutate({ data: begunBy("TEAM_") });
  await client.sharedVariables.server.updateBulk.mutate({ uuid: machine, data: begunBy("MACHINE_") });
}

/** A key that GitHub apps may use. */
const rsaKey = (): string =>
  generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey;

type Place = Awaited<ReturnType<typeof placeOf>> & {
  readonly far: { readonly server_uuid: string; readonly destination_uuid: string };
};

async function plantPlace(server: TestServer, planted: Planted): Promise<Place> {
  const { client } = server;
  const { text, name } = planted;
  const place = await placeOf(server);
  const uuid = place.project_uuid;
  await client.projects.update.mutate({
    ...{
      uuid,
      name: planted.projectName("project.name"),
      description: planted.projectDescription("project.description"),
    },
  });
  const environment = planted.projectName("environment.name");
  const made = await client.projects.environments.create.mutate({ uuid, name: environment });
  await client.sharedVariables.project.create.mutate({ uuid, key: "WHOLE", value: text("project-variable.value") });
  await client.sharedVariables.environment.create.mutate({
    ...{ uuid, environment_name_or_uuid: made.uuid, key: "PART", value: text("environment-variable.value") },
  });
  const { uuid: private_key_uuid } = await client.privateKeys.create.mutate({ private_key: sshKeyPair().privateKey });
  const far = await client.servers.create.mutate({
    ...{
      name: name("server.name"),
      description: name("server.description"),
      ip: "127.0.0.7",
      port: 9,
      private_key_uuid,
    },
  });
  await client.sharedVariables.server.create.mutate({
    uuid: far.uuid,
    key: "NEAR",
    value: text("server-variable.value"),
  });
  const { uuid: destination } = await client.destinations.create.mutate({
    uuid: far.uuid,
    name: name("destination.name"),
    network: "backend",
  });
  await client.logDrains.update.mutate({ uuid: far.uuid, logdrain_custom_config: drainTo(text("log-drain.config")) });
  return { ...place, environment_name: environment, far: { server_uuid: far.uuid, destination_uuid: destination } };
}

/** A custom log drain with a comment. */
const drainTo = (comment: string): string =>
  `# ${comment}\n[OUTPUT]\n    Name http\n    Host logs.example.com\n    Port 443\n    URI /in\n    Format json\n`;

async function plantApplication(
  server: TestServer,
  { text, name, path }: Planted,
  repository: TestRepository,
  { far: _far, ...place }: Place,
) {
  const { client } = server;
  const printed = text("log.line");
  const message = text("commit.message");
  repository.commit({ "server.js": sourceOf(printed) }, message);
  repository.git("checkout", "--quiet", "-b", "feature");
  repository.commit({ "README.md": "Changed" }, text("preview.message"));
  repository.git("update-ref", "refs/pull/7/head", "HEAD");
  repository.git("checkout", "--quiet", "main");
  const { uuid } = await createApplication(server, repository, { ...place, is_preview_deployments_enabled: true });
  await client.applications.update.mutate({
    ...{ uuid, name: name("application.name"), description: name("application.description") },
  });
  await client.applications.envs.create.mutate({
    ...{ uuid, key: "OWN", value: text("variable.value"), comment: text("variable.comment") },
  });
  await created(server, `/applications/${uuid}/storages`, {
    ...{ type: "file", mount_path: `/etc/${path("storage.path")}`, content: text("storage.content") },
  });
  await client.applications.scheduledTasks.create.mutate({
    ...{ uuid, name: name("task.name"), command: text("task.command"), frequency: "0 0 1 1 *" },
  });
  await client.applications.tags.attach.mutate({ uuid, tag_name: name("tag.name") });
  const { status, log } = await deploy(server, uuid);
  if (status !== "finished") throw new Error(`Not deployed: ${log}`);
  const [deployment] = (await client.deployments.listByApplication.query({ uuid })).deployments;
  const { deployments = [] } = await client.deploy.mutate({ uuid, pull_request_id: 7 });
  await outcomeOf(server, deployments[0]?.deployment_uuid ?? "");
  return { application: uuid, deployment: deployment?.deployment_uuid ?? "" };
}

/** Prints a text, and then serves. */
const sourceOf = (printed: string): string => `
  console.log(${JSON.stringify(printed)});
  require("node:http").createServer((_request, response) => response.end("here")).listen(process.env.PORT);
  process.on("SIGTERM", () => process.exit(0));
`;

async function plantResources({ client }: TestServer, { text, name }: Planted, { far, ...place }: Place) {
  const database = await client.databases.create.postgresql.mutate({
    ...{ ...place, name: name("database.name"), description: name("database.description") },
    postgres_conf: `# ${text("database.conf")}`,
  });
  const service = await client.services.create.mutate({
    ...{ ...place, ...far, name: name("service.name"), description: name("service.description") },
    docker_compose: `services:\n  web:\n    image: nginx\n    # ${text("service.compose")}\n`,
  });
  return { database: database.uuid, service: service.uuid, server: far.server_uuid };
}
