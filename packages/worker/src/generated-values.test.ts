import type { StackArtifact } from "@berth/core/deploy";
import { newEnv } from "@berth/core/env";
import { testMagic, testUuid } from "@berth/testing";
import { expect, test } from "vitest";
import { generateUrls } from "./deploy/generated-urls.ts";
import { generateVariables } from "./deploy/generated-variables.ts";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

const stackOf = (compose: string): StackArtifact => ({ type: "stack", compose, images: {}, files: [] });
const artifact = stackOf(
  "services: { db: { image: db, environment: { PASSWORD: $SERVICE_PASSWORD_DB, USER: $SERVICE_USER_DB } } }",
);

async function generated(pull_request_id = 0, own: Readonly<Record<string, string>> = {}) {
  const application = await world.application({ build_pack: "dockercompose" });
  for (const [key, value] of Object.entries(own)) {
    await world.stores.envs.insert(application.id, testUuid(), newEnv({ key, value }));
  }
  const deployment = { ...(await world.deploy(application)), pull_request_id };
  const said: string[] = [];
  const run = async () => {
    const subject = await world.system.resources.subject(application.id);
    if (subject === undefined) throw new Error("The application exists.");
    const { items: envs } = await world.stores.envs.list(application.id);
    const magic = { ...testMagic, secret: (length: number) => "s".repeat(length), uuid: testUuid };
    const say = (line: string) => void said.push(line);
    const clock = { now: () => new Date(0) };
    return await generateVariables({ stores: world.system, subject, deployment, envs, clock, magic, say }, artifact);
  };
  const variables = async () =>
    (await world.stores.envs.list(application.id)).items.map(({ key, value, is_preview }) => [key, value, is_preview]);
  return { run, variables, said };
}

const PASSWORD = "s".repeat(32);

test("a built compose file gets the values that it asks for once, with those of previews", async () => {
  const { run, variables, said } = await generated(0, { SERVICE_USER_DB: "chosen" });
  expect(await run()).toEqual({ ...artifact, variables: { SERVICE_PASSWORD_DB: PASSWORD } });
  const after = [
    ["SERVICE_USER_DB", "chosen", false],
    ["SERVICE_PASSWORD_DB", PASSWORD, false],
    ["SERVICE_PASSWORD_DB", PASSWORD, true],
  ];
  expect(await variables()).toEqual(after);
  expect(said).toEqual(["Generated SERVICE_PASSWORD_DB, variables of the application from now on."]);
  expect(await run()).toEqual(artifact);
  expect(await variables()).toEqual(after);
});

test("that of a preview gets its own alone", async () => {
  const { run, variables } = await generated(7);
  await run();
  expect((await variables()).map(([key, , isPreview]) => [key, isPreview])).toEqual([
    ["SERVICE_PASSWORD_DB", true],
    ["SERVICE_USER_DB", true],
  ]);
});

const WITH_URL = stackOf(
  'services: { web: { image: shop, environment: { SERVICE_URL_WEB_3000: "" } }, worker: { image: shop } }',
);

interface Given {
  readonly settings?: Parameters<World["application"]>[0];
  readonly isFirst?: boolean;
  readonly pull_request_id?: number;
}

async function generatedUrls({ settings, isFirst = true, pull_request_id = 0 }: Given = {}) {
  const application = await world.application({ build_pack: "dockercompose", ...settings });
  const deployment = { ...(await world.deploy(application)), pull_request_id };
  const subject = await world.system.resources.subject(application.id);
  const server = (await world.system.servers.list()).find(({ id }) => id === application.server_id);
  if (subject === undefined || server === undefined) throw new Error("Both exist.");
  const claimed: string[] = [];
  const said: string[] = [];
  const proxy = { publicUrl: (url: string) => url.replace(":3000", ":8080") };
  await generateUrls(
    {
      ...{ stores: world.system, subject, deployment, isFirst },
      // Only these two are asked.
      adapters: { server, proxy } as unknown as Parameters<typeof generateUrls>[0]["adapters"],
      say: (line) => void said.push(line),
      claimed: (domains) => void claimed.push(...domains.map(({ public_url }) => public_url ?? "")),
    },
    WITH_URL,
  );
  const after = await world.stores.applications.find(application.uuid);
  const events = await world.stores.events.list({ type: "resource.updated", resource: application.uuid });
  const domains = after?.settings.docker_compose_domains?.map((one) => ({ ...one, domain: labelled(one.domain) }));
  return {
    domains: domains ?? null,
    claimed: claimed.map(labelled),
    said: said.map(labelled),
    fqdn: labelled(after?.fqdn),
    events: events.map(({ payload }) => payload),
  };
}

const labelled = (text: string | null | undefined): string =>
  (text ?? "").replace(/web-[a-z0-9]{24}\.\S+?(?=:|\s|$)/, "HOST");

test("the first deployment of a compose file gives a container the URL that the file asks for", async () => {
  expect(await generatedUrls()).toEqual({
    domains: [{ name: "web", domain: "http://HOST:3000" }],
    claimed: ["http://HOST:8080"],
    said: ["Generated the URL http://HOST:8080 of web, which the compose file asks for."],
    fqdn: "http://HOST:3000",
    events: [{ resource_kind: "application", resource_name: "hello", fields: ["docker_compose_domains"] }],
  });
});

test.each<[string, Given, unknown]>([
  ["a later deployment", { isFirst: false }, null],
  ["a preview", { pull_request_id: 7 }, null],
  ["an application that shall have none", { settings: { docker_compose_domains: [] } }, []],
])("%s gets none", async (_what, given, domains) => {
  expect(await generatedUrls(given)).toMatchObject({ domains, claimed: [], said: [], events: [] });
});
