import { generateKeyPairSync } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isTerminal } from "@berth/core/deploy";
import type { DeploymentRecord, Stores } from "@berth/core/ports";
import { processBuilder, processEngine } from "@berth/engine";
import { redactor } from "@berth/host";
import { embeddedProxy } from "@berth/proxy";
import { githubHost, sourceFetcher } from "@berth/source";
import {
  createRepository,
  type GithubServer,
  type GitServer,
  newDeployment,
  startGithubServer,
  startGitServer,
  type TestDatabase,
  type TestPlace,
  testApplication,
  testDatabase,
  testGithubApp,
  testPlace,
  testPrivateKey,
  testUuid,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitCredentials } from "./git-credentials.ts";
import { worker } from "./worker.ts";

const REPOSITORY_ID = 11;

let root: string;
let database: TestDatabase;
let stores: Stores;
let place: TestPlace;
let github: GithubServer;
let git: GitServer;
let tip: string;
let close: () => Promise<void>;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "berth-github-"));
  await chmod(root, 0o711);
  const repository = createRepository(join(root, "repositories", "acme", "web.git"));
  tip = repository.commit({ "index.html": "private" }, "Say private");
  github = await startGithubServer({ repositories: [{ id: REPOSITORY_ID, fullName: "acme/web", branches: ["main"] }] });
  git = await startGitServer({
    root: join(root, "repositories"),
    // Like GitHub: accepts only tokens for this repository, with the user name for app tokens.
    intercept(request, response) {
      const login = Buffer.from(request.headers.authorization?.slice("Basic ".length) ?? "", "base64").toString();
      const [name, token] = login.split(":");
      const given = github.tokens.find((one) => one.token === token);
      if (name === "x-access-token" && given?.repositoryIds?.includes(REPOSITORY_ID)) return false;
      response.writeHead(401, { "www-authenticate": 'Basic realm="GitHub"' }).end();
      return true;
    },
  });
  database = await testDatabase();
  stores = database.stores();
  place = await testPlace(stores);
  close = await openWorker();
});

afterAll(async () => {
  await close?.();
  await git?.close();
  await github?.close();
  await database?.close();
  await rm(root, { recursive: true, force: true });
});

/** Uses the product's own parts, from the app's record to the running site. */
async function openWorker() {
  const engine = processEngine({ dataFolder: join(root, "apps"), builder: processBuilder() });
  const proxy = await embeddedProxy({
    folder: join(root, "proxy"),
    host: "127.0.0.1",
    port: 0,
    nodePath: process.execPath,
  });
  const allowedPrivateHosts = ["127.0.0.1"];
  const made = worker({
    stores: database.system,
    engineFor: () => engine,
    proxyFor: () => proxy,
    source: sourceFetcher({ folder: join(root, "sources"), allowFileProtocol: false, allowedPrivateHosts }),
    credentialsFor: gitCredentials(database.system, githubHost({ allowedPrivateHosts })),
    redactor,
    clock: { now: () => new Date() },
    owner: testUuid(),
    diskOf: async () => undefined,
    machineOf: () => undefined,
    ownsServer: ({ id }) => id === place.server.id,
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    settings: { reconcileSeconds: 0.5 },
  });
  made.start();
  return async () => {
    await made.stop({ graceSeconds: 1 });
    await engine.close({ stopReleases: true, graceSeconds: 2 });
    await proxy.close({ stopProxy: true });
  };
}

async function deployed(privateKey: string): Promise<{ ended: DeploymentRecord; log: string }> {
  const app = await testGithubApp(stores, {
    api_url: github.url,
    html_url: git.url,
    app_id: github.appId,
    installation_id: github.installationId,
    private_key_id: (await testPrivateKey(stores, privateKey)).id,
  });
  const application = await testApplication(stores, place, {
    github_app: { id: app.id, repository_id: REPOSITORY_ID },
    settings: { git_repository: "acme/web", git_branch: "main", build_pack: "static" },
  });
  const [queued] = await stores.deployments.enqueue([newDeployment(application, { commit: "HEAD" })]);
  if (queued?.outcome !== "queued") throw new Error("It was not queued.");
  const ended = await until(
    async () => {
      const found = await stores.deployments.find(queued.deployment.uuid);
      return found && isTerminal(found.status) ? found : undefined;
    },
    { what: "the deployment ends", seconds: 60 },
  );
  const lines = await stores.deployments.log(ended.id, {});
  return { ended, log: lines.map(({ output }) => output).join("\n") };
}

describe("the repository of a GitHub app", () => {
  test("is deployed with a token for it alone, which is left nowhere", async () => {
    const { ended, log } = await deployed(github.privateKey);
    expect([ended.status, ended.error, ended.commit]).toEqual(["finished", null, tip]);
    expect(github.tokens.map(({ repositoryIds, permissions }) => [repositoryIds, permissions])).toEqual([
      [[REPOSITORY_ID], { contents: "read" }],
    ]);
    const token = github.tokens[0]?.token ?? "";
    expect(token.length).toBeGreaterThan(20);
    expect(log).not.toContain(token);
    expect(git.requests.join("\n")).not.toContain(token);
    const files = ["sources", "apps"].flatMap((folder) => filesBelow(join(root, folder)));
    expect(files.length).toBeGreaterThan(5);
    const encoded = Buffer.from(`x-access-token:${token}`).toString("base64");
    const serverLeases = (file: string) => [token, encoded].some((text) => readFileSync(file, "latin1").includes(text));
    expect(files.filter(serverLeases)).toEqual([]);
    expect(JSON.stringify(await stores.events.list({}))).not.toContain(token);
  });

  test("is not deployed with a key that GitHub does not know, and the reason says what to check", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const text = privateKey.export({ type: "pkcs1", format: "pem" }).toString();
    const { ended, log } = await deployed(text);
    expect([ended.status, ended.error]).toEqual(["failed", expect.stringContaining("Check app_id, installation_id")]);
    expect(log).not.toContain(text.split("\n")[2]);
  });

  test("is not deployed while GitHub does not answer, and the reason says so", async () => {
    github.fail("POST /app/installations", "rate_limited");
    // The same key as another text, since the instance accepts each text only once.
    const { ended } = await deployed(`${github.privateKey}\n`);
    expect([ended.status, ended.error]).toEqual(["failed", expect.stringContaining("Try again in")]);
    github.clearFaults();
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false);
}
