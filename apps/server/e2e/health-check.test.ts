import type { RepositoryFiles } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createApplication, deploy, get, temporaryRepository } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Answers its version, and never says of itself whether it works: only what it has written does. */
const telling = (version: string, ready: boolean): RepositoryFiles => ({
  "package.json": JSON.stringify({ name: "telling", version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": `
    ${ready ? 'require("node:fs").writeFileSync("ready", process.env.SECRET_WORD);' : ""}
    require("node:http").createServer((request, response) => {
      response.writeHead(request.url === "/" ? 200 : 500);
      response.end(${JSON.stringify(version)});
    }).listen(process.env.PORT);
    process.on("SIGTERM", () => process.exit(0));
  `,
});

const repository = temporaryRepository(telling("one", true));
let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(async () => {
  await server.dispose();
  repository.dispose();
});

it("[S08] runs the command of a health check in the release itself, and believes it", async () => {
  const application = await createApplication(server, repository, {
    name: "telling",
    health_check_enabled: true,
    health_check_type: "cmd",
    // In the release's own folder, with its own variables.
    health_check_command: 'test "$(cat ready)" = "$SECRET_WORD"',
    health_check_interval: 1,
    health_check_retries: 2,
    health_check_start_period: 1,
  });
  await server.rest("POST", `/applications/${application.uuid}/envs`, { key: "SECRET_WORD", value: "open sesame" });
  const first = await deploy(server, application.uuid);
  expect([first.status, first.error]).toEqual(["finished", null]);
  expect(first.log).toContain("the health check command");
  expect((await get(server, application.host)).body).toBe("one");

  repository.commit(telling("two", false), "Break the health check");
  const second = await deploy(server, application.uuid);
  expect([second.status, second.error]).toEqual([
    "failed",
    expect.stringContaining("its health check command exited with code 1"),
  ]);
  expect((await get(server, application.host)).body).toBe("one");
});
