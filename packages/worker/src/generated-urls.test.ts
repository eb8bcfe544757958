import type { StackArtifact } from "@berth/core/deploy";
import { type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { generateUrls } from "./deploy/generated-urls.ts";
import { openWorld, type World } from "./world.fixture.ts";

let database: TestDatabase;
let world: World;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  world = await openWorld(database);
});
afterEach(() => world.close());

const artifact: StackArtifact = {
  type: "stack",
  compose: 'services: { web: { image: shop, environment: { SERVICE_URL_WEB_3000: "" } }, worker: { image: shop } }',
  images: {},
  files: [],
};

interface Given {
  readonly settings?: Parameters<World["application"]>[0];
  readonly isFirst?: boolean;
  readonly pull_request_id?: number;
}

async function generated({ settings, isFirst = true, pull_request_id = 0 }: Given = {}) {
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
    artifact,
  );
  const after = await world.stores.applications.find(application.uuid);
  const domains = after?.settings.docker_compose_domains?.map((one) => ({ ...one, domain: labelled(one.domain) }));
  return {
    domains: domains ?? null,
    claimed: claimed.map(labelled),
    said: said.map(labelled),
    fqdn: labelled(after?.fqdn),
  };
}

const labelled = (text: string | null | undefined): string =>
  (text ?? "").replace(/web-[a-z0-9]{24}\.\S+?(?=:|\s|$)/, "HOST");

test("the first deployment of a compose file gives a container the URL that the file asks for", async () => {
  expect(await generated()).toEqual({
    domains: [{ name: "web", domain: "http://HOST:3000" }],
    claimed: ["http://HOST:8080"],
    said: ["Generated the URL http://HOST:8080 of web, which the compose file asks for."],
    fqdn: "http://HOST:3000",
  });
});

test.each<[string, Given, unknown]>([
  ["a later deployment", { isFirst: false }, null],
  ["a preview", { pull_request_id: 7 }, null],
  ["an application that shall have none", { settings: { docker_compose_domains: [] } }, []],
])("%s gets none", async (_what, given, domains) => {
  expect(await generated(given)).toMatchObject({ domains, claimed: [], said: [] });
});
