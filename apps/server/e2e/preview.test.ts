import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { RepositoryFiles } from "@berth/testing";
import { until } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  outcomeOf,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Answers its version, the variable GREETING, its branch, and how often it was asked, counted in its storage. */
const counting = (version: string): RepositoryFiles => ({
  "package.json": JSON.stringify({ name: "counting", version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": `
    const { appendFileSync, readFileSync } = require("node:fs");
    require("node:http").createServer((request, response) => {
      if (request.url === "/") appendFileSync("data/asked", "x");
      const { GREETING, BERTH_BRANCH, BERTH_URL } = process.env;
      const asked = request.url === "/" ? readFileSync("data/asked", "utf8").length : 0;
      response.end([${JSON.stringify(version)}, GREETING, BERTH_BRANCH, BERTH_URL, asked].join(" "));
    }).listen(process.env.PORT);
    process.on("SIGTERM", () => process.exit(0));
  `,
});

const repository = temporaryRepository(counting("main"));
let server: TestServer;
let shop: Deployed;
beforeAll(async () => {
  server = await testServer();
  // The base of the pull request is deployed, its head is not.
  repository.git("checkout", "--quiet", "-b", "feature");
  repository.commit(counting("feature"), "Add the feature");
  repository.git("update-ref", "refs/pull/7/head", "HEAD");
  repository.git("checkout", "--quiet", "main");
  repository.git("branch", "--quiet", "-D", "feature");
  shop = await createApplication(server, repository, {
    name: "shop",
    is_preview_deployments_enabled: true,
    health_check_enabled: true,
    health_check_path: "/health",
  });
  await server.rest("POST", `/applications/${shop.uuid}/envs`, { key: "GREETING", value: "hello" });
  const preview = { key: "GREETING", value: "hi", is_preview: true };
  await server.rest("PATCH", `/applications/${shop.uuid}/envs`, preview);
  const storage = { type: "persistent", name: "data", mount_path: "/app/data" };
  expect((await server.rest("POST", `/applications/${shop.uuid}/storages`, storage)).status).toBe(201);
});
afterAll(async () => {
  await server.dispose();
  repository.dispose();
});

async function deployPreview(pullRequest: number) {
  const { body } = await server.rest("POST", `/deploy?uuid=${shop.uuid}&pull_request_id=${pullRequest}`);
  const [entry] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
  return await outcomeOf(server, entry?.deployment_uuid ?? "");
}
const previews = async () =>
  (await server.rest("GET", `/applications/${shop.uuid}/previews`)).body as {
    pull_request_id: number;
    status: string;
    fqdn: string;
    urls: string[];
  }[];
const storagesOnDisk = () => readdirSync(join(server.dataFolder, "apps", shop.uuid, "storages")).sort();

it("[S65] serves a pull request beside its application, and leaves nothing of it when it is closed", async () => {
  expect((await deploy(server, shop.uuid)).status).toBe("finished");
  const outcome = await deployPreview(7);
  expect([outcome.status, outcome.error], outcome.log).toEqual(["finished", null]);
  const host = `7.${shop.host}`;
  expect(outcome.log).toContain(`Deployment finished: http://${host}:${server.proxyPort}`);
  await until(async () => (await previews())[0]?.status === "running:healthy");
  expect(await previews()).toMatchObject([
    { pull_request_id: 7, fqdn: `http://${host}`, urls: [`http://${host}:${server.proxyPort}`] },
  ]);

  // Each its own version, variables and storage.
  await get(server, shop.host);
  expect((await get(server, shop.host)).body).toBe(`main hello main http://${shop.host}:${server.proxyPort} 2`);
  expect((await get(server, host)).body).toBe(`feature hi pull/7/head http://${host}:${server.proxyPort} 1`);
  expect(storagesOnDisk()).toEqual([expect.stringMatching(/^[a-z0-9]+$/), expect.stringMatching(/^[a-z0-9]+-pr-7$/)]);

  // The next push to the pull request replaces its release and keeps its storage.
  repository.git("checkout", "--quiet", "refs/pull/7/head");
  repository.commit(counting("feature 2"), "Improve the feature");
  repository.git("update-ref", "refs/pull/7/head", "HEAD");
  repository.git("checkout", "--quiet", "main");
  expect((await deployPreview(7)).status).toBe("finished");
  expect((await get(server, host)).body).toBe(`feature 2 hi pull/7/head http://${host}:${server.proxyPort} 2`);

  // It outlives the control plane, and its application.
  await server.kill();
  await server.start();
  await server.rest("POST", `/applications/${shop.uuid}/stop`);
  await until(async () => (await get(server, shop.host)).status === 503);
  expect((await get(server, host)).body).toBe(`feature 2 hi pull/7/head http://${host}:${server.proxyPort} 3`);

  const deleted = await server.rest("DELETE", `/applications/${shop.uuid}/previews/7`);
  expect(deleted.status).toBe(200);
  const { job_uuid } = deleted.body as { job_uuid: string };
  await until(async () => (await previews()).length === 0);
  expect((await server.rest("GET", `/jobs/${job_uuid}`)).body).toMatchObject({ status: "finished", error: null });
  expect((await get(server, host)).status).toBe(404);
  expect(storagesOnDisk()).toEqual([expect.stringMatching(/^[a-z0-9]+$/)]);
  const runs = join(server.dataFolder, "apps", shop.uuid, "run");
  expect(readdirSync(runs)).toHaveLength(1);
  // Its URL is free again.
  for (const domains of [`http://${shop.host},http://${host}`, `http://${shop.host}`]) {
    expect((await server.rest("PATCH", `/applications/${shop.uuid}`, { domains })).status).toBe(200);
  }
});

it("says what is missing when there is no such pull request, and its application continues", async () => {
  const { status, error } = await deployPreview(404);
  expect([status, error]).toEqual(["failed", expect.stringContaining("has no refs/pull/404/head")]);
  await server.rest("DELETE", `/applications/${shop.uuid}/previews/404`);
  await until(async () => (await previews()).length === 0);
});

it("is gone with its application", async () => {
  expect((await deployPreview(7)).status).toBe("finished");
  const [preview] = await previews();
  const host = new URL(preview?.fqdn ?? "").hostname;
  expect((await get(server, host)).status).toBe(200);
  await server.rest("DELETE", `/applications/${shop.uuid}`);
  await until(async () => (await server.rest("GET", `/applications/${shop.uuid}`)).status === 404);
  expect((await get(server, host)).status).toBe(404);
  expect(existsSync(join(server.dataFolder, "apps", shop.uuid))).toBe(false);
});
