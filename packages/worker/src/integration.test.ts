import { chmod, mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApplicationSettings } from "@berth/core/application";
import { isTerminal } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord, NewDeployment, Stores } from "@berth/core/ports";
import { type ProcessEngine, processBuilder, processEngine } from "@berth/engine";
import { redactor } from "@berth/host";
import { type EmbeddedProxy, embeddedProxy } from "@berth/proxy";
import { sourceFetcher } from "@berth/source";
import {
  assertTook,
  createRepository,
  newDeployment,
  type TestDatabase,
  type TestPlace,
  type TestRepository,
  testApplication,
  testDatabase,
  testPlace,
  testUuid,
  took,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Worker, worker } from "./worker.ts";

let root: string;
let database: TestDatabase;
let stores: Stores;
let place: TestPlace;
let engine: ProcessEngine;
let proxy: EmbeddedProxy;
let running: Worker;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "berth-worker-"));
  await chmod(root, 0o711);
  database = await testDatabase();
  stores = database.stores();
  place = await testPlace(stores);
  engine = openEngine();
  proxy = await embeddedProxy({ folder: join(root, "proxy"), host: "127.0.0.1", port: 0, nodePath: process.execPath });
  running = openWorker();
});

afterAll(async () => {
  await running?.stop({ graceSeconds: 1 });
  await engine?.close({ stopReleases: true, graceSeconds: 2 });
  await proxy?.close({ stopProxy: true });
  await database?.close();
  await rm(root, { recursive: true, force: true });
});

const openEngine = () =>
  processEngine({ dataFolder: join(root, "apps"), runtimeFolder: join(root, "runtime"), builder: processBuilder() });

function openWorker(): Worker {
  const made = worker({
    stores: database.system,
    engineFor: () => engine,
    proxyFor: () => proxy,
    source: sourceFetcher({ folder: join(root, "sources"), allowFileProtocol: true }),
    credentialsFor: async () => undefined,
    redactor,
    clock: { now: () => new Date() },
    diskOf: async () => undefined,
    machineOf: () => undefined,
    owner: testUuid(),
    ownsServer: ({ id }) => id === place.server.id,
    logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    settings: { reconcileSeconds: 0.5, drainSecondsMax: 5 },
  });
  made.start();
  return made;
}

/** Answers with its text; the variable `MODE` breaks it in typical ways. */
const server = (text: string) => `
const { createServer } = require("node:http");
if (process.env.MODE === "crash") { console.error("Cannot find module 'express'"); process.exit(3); }
const port = process.env.MODE === "wrong port" ? 0 : process.env.PORT;
createServer((request, response) => {
  response.writeHead(process.env.MODE === "sick" ? 503 : 200);
  response.end(${JSON.stringify(text)});
}).listen(port, process.env.HOST);
`;

interface Project {
  readonly repository: TestRepository;
  readonly application: ApplicationRecord;
  readonly host: string;
}

async function project(settings: Partial<ApplicationSettings> = {}): Promise<Project> {
  const repository = createRepository(join(root, "repositories", testUuid()));
  repository.commit({ "server.js": server("one") }, "Say one");
  const created = await testApplication(stores, place, {
    settings: { git_repository: repository.url, git_branch: "main", start_command: "node server.js", ...settings },
  });
  const host = `${created.uuid}.test`;
  await stores.domains.claim(created.id, [{ host, path: "/", url: `http://${host}` }], { takeFromOwnTeam: false });
  await stores.resources.setDesiredState(created.id, "running");
  return { repository, application: created, host };
}

async function deploy(
  { application }: Project,
  fields: Partial<NewDeployment> = {},
): Promise<{ ended: DeploymentRecord; log: string }> {
  const deployment = await enqueue(application, fields);
  const ended = await endOf(deployment);
  const lines = await stores.deployments.log(ended.id, {});
  return { ended, log: lines.map(({ output }) => output).join("\n") };
}

async function enqueue(application: ApplicationRecord, fields: Partial<NewDeployment> = {}): Promise<DeploymentRecord> {
  const [outcome] = await stores.deployments.enqueue([newDeployment(application, { commit: "HEAD", ...fields })]);
  if (outcome?.outcome !== "queued") throw new Error(`Not queued: ${outcome?.outcome}`);
  return outcome.deployment;
}

const endOf = ({ uuid }: DeploymentRecord) =>
  until(
    async () => {
      const found = await stores.deployments.find(uuid);
      return found && isTerminal(found.status) ? found : undefined;
    },
    { what: "the deployment ends", seconds: 90 },
  );

function ask(host: string, agent?: Agent): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port: proxy.port, headers: { host }, agent: agent ?? false },
      (response) => {
        let body = "";
        response.on("data", (chunk: Buffer) => {
          body += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

const serves = (host: string, body: string) =>
  until(async () => (await ask(host)).body === body, { what: `${host} serves ${body}`, seconds: 30 });

describe("with real processes, a real proxy and real repositories", () => {
  test("a deployment fetches, builds, starts, checks and serves", async () => {
    const subject = await project();
    const { ended, log } = await deploy(subject);
    expect(log).toContain("> checkout");
    expect(ended).toMatchObject({ status: "finished", error: null, commit_message: "Say one" });
    expect(await ask(subject.host)).toEqual({ status: 200, body: "one" });
    expect((await stores.applications.find(subject.application.uuid))?.status).toBe("running:healthy");
  });

  test("no request fails while one release after the other is replaced", async () => {
    const subject = await project({ docker_images_to_keep: 0 });
    await deploy(subject);
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const failures: unknown[] = [];
    const bodies = new Set<string>();
    let requests = 0;
    let isOver = false;
    const askOn = async () => {
      while (!isOver) {
        const answer = await ask(subject.host, agent).catch((error: unknown) => ({ status: 0, body: String(error) }));
        requests += 1;
        if (answer.status === 200) bodies.add(answer.body);
        else failures.push(answer);
      }
    };
    const asking = Array.from({ length: 8 }, askOn);
    for (const text of ["two", "three", "four"]) {
      subject.repository.commit({ "server.js": server(text) }, `Say ${text}`);
      expect((await deploy(subject)).ended.status).toBe("finished");
      await serves(subject.host, text);
    }
    await until(
      async () => {
        const own = (await engine.list()).filter(({ resourceUuid }) => resourceUuid === subject.application.uuid);
        return own.length === 1;
      },
      { what: "only the newest is left" },
    );
    isOver = true;
    await Promise.all(asking);
    agent.destroy();
    expect(failures).toEqual([]);
    expect([...bodies]).toEqual(["one", "two", "three", "four"]);
    expect(requests).toBeGreaterThan(500);
  });

  test.each([
    ["build", { build_command: "echo compiling && exit 4" }, /4/],
    ["crash", {}, /^The new release crashed: it exited with code 3/],
    ["sick", {}, /^The new release is not healthy after \d+ seconds?: GET \/ answered 503 instead of 200\.$/],
    ["wrong port", {}, /it listens on port \d+ instead of the port in PORT \(\d+\)\. Set ports_exposes to \d+/],
  ] as const)(
    "what is broken (%s) is said in a sentence, and the release before it keeps running",
    async (mode, change, sentence) => {
      const check = {
        health_check_enabled: true,
        health_check_interval: 1,
        // A crash ends the wait, however long a busy machine takes to start a program.
        health_check_retries: mode === "crash" ? 60 : 2,
        health_check_start_period: 1,
      };
      const subject = await project(check);
      await deploy(subject);
      await stores.applications.update(subject.application.id, { settings: change });
      await stores.envs.insert(subject.application.id, testUuid(), {
        key: "MODE",
        value: mode,
        is_preview: false,
        is_literal: false,
        is_multiline: false,
        is_shown_once: false,
        is_runtime: true,
        is_buildtime: false,
        is_required: false,
        comment: null,
        order: null,
      });
      const { ended, log } = await deploy(subject);
      expect(ended.status).toBe("failed");
      expect(ended.error).toMatch(sentence);
      if (mode === "crash") expect(log).toContain("Cannot find module 'express'");
      expect(await ask(subject.host)).toEqual({ status: 200, body: "one" });
      await until(
        async () => {
          const own = (await engine.list()).filter(({ resourceUuid }) => resourceUuid === subject.application.uuid);
          return own.length === 1;
        },
        { what: "nothing is left of it" },
      );
    },
  );

  test("a cancelled build is gone within five seconds", async () => {
    const subject = await project({ build_command: "echo building && sleep 600" });
    const deployment = await enqueue(subject.application);
    await until(
      async () => (await stores.deployments.log(deployment.id, {})).some(({ output }) => output === "building"),
      { what: "it is building", seconds: 60 },
    );
    const ended = async () => {
      await stores.deployments.requestCancel(deployment.uuid);
      expect((await endOf(deployment)).status).toBe("cancelled-by-user");
    };
    await assertTook(await took(ended), 5000);
  });

  test("a restart runs the same build with new variables, and the next deployment removes it", async () => {
    const subject = await project({ docker_images_to_keep: 0 });
    const first = await deploy(subject);
    const restarted = await deploy(subject, { restart_only: true });
    expect(restarted.ended.status).toBe("finished");
    expect(restarted.log).not.toContain("Detected");
    await until(async () => (await stepsOf(restarted.ended)).retire === "done", { what: "the first one is retired" });
    await serves(subject.host, "one");
    // After a crash the engine reads the artifact again.
    const again = await deploy(subject, { restart_only: true });
    await until(async () => (await stepsOf(again.ended)).retire === "done", { what: "the second one is retired" });
    await serves(subject.host, "one");
    subject.repository.commit({ "server.js": server("two") });
    await deploy(subject);
    await serves(subject.host, "two");
    await until(
      async () => {
        const own = (await engine.list()).filter(({ resourceUuid }) => resourceUuid === subject.application.uuid);
        return own.length === 1 && !own.some(({ deploymentUuid }) => deploymentUuid === first.ended.uuid);
      },
      { what: "what was built first is gone" },
    );
  });

  test("a stopped application says so, and serves again when it is started", async () => {
    const subject = await project();
    await deploy(subject);
    await stores.resources.setDesiredState(subject.application.id, "stopped");
    await until(async () => (await statusOf(subject)) === "exited:unhealthy", { what: "it is stopped" });
    expect((await ask(subject.host)).status).toBe(503);
    await stores.resources.setDesiredState(subject.application.id, "running");
    await serves(subject.host, "one");
    await until(async () => (await statusOf(subject)) === "running:healthy", { what: "it is healthy" });
  });

  test("a crash of the application is mended by its engine, and the status reports it", async () => {
    const subject = await project();
    subject.repository.commit({ "server.js": `${server("one")}; setTimeout(() => process.exit(5), 3000);` });
    await deploy(subject);
    await until(async () => ((await stores.applications.find(subject.application.uuid))?.restart_count ?? 0) > 0, {
      what: "it has restarted",
      seconds: 30,
    });
  });

  test("what ran before a clean stop runs again after the next start", async () => {
    const subject = await project();
    await deploy(subject);
    await running.stop({ graceSeconds: 1 });
    await engine.close({ stopReleases: true, graceSeconds: 2 });
    expect((await ask(subject.host)).status).toBeGreaterThanOrEqual(500);
    engine = openEngine();
    running = openWorker();
    await serves(subject.host, "one");
    await until(async () => (await statusOf(subject)) === "running:healthy", { what: "it is healthy" });
  });

  test("a deleted application leaves nothing behind", async () => {
    const subject = await project();
    await deploy(subject);
    await stores.resources.markRemoving(subject.application.id, { delete_volumes: true });
    const ref = { kind: "application", uuid: subject.application.uuid } as const;
    await until(async () => (await stores.resources.find(ref)) === undefined, { what: "it is gone" });
    expect((await ask(subject.host)).status).toBe(404);
    expect((await engine.list()).some(({ resourceUuid }) => resourceUuid === subject.application.uuid)).toBe(false);
  });
});

const statusOf = async ({ application }: Project) => (await stores.applications.find(application.uuid))?.status;

async function stepsOf({ id }: DeploymentRecord): Promise<Record<string, string>> {
  return Object.fromEntries((await stores.deployments.steps(id)).map(({ name, status }) => [name, status]));
}
