import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRepository, type RepositoryFiles, type TestRepository, until } from "@berth/testing";
import { assertRunning, type TestServer } from "./server.fixture.ts";

/** A small server without dependencies that answers its version. */
export const plainServer = (version: string): RepositoryFiles => ({
  "package.json": JSON.stringify({ name: "plain", version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": `
    const http = require("node:http");
    const server = http.createServer((request, response) => {
      if (request.url === "/pid") return response.end(String(process.pid));
      if (request.url === "/slow") return setTimeout(() => response.end(${JSON.stringify(version)}), 300);
      response.end(${JSON.stringify(version)});
    });
    server.listen(process.env.PORT);
    process.on("SIGTERM", () => server.close(() => process.exit(0)));
  `,
});

/** A repository in a temporary folder. */
export function temporaryRepository(files: RepositoryFiles): TestRepository & { dispose(): void } {
  const folder = mkdtempSync(join(tmpdir(), "berth-repository-"));
  const repository = createRepository(join(folder, "source"));
  repository.commit(files, "Begin");
  return { ...repository, dispose: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A lockfile made by the package manager itself, as a user would commit it. */
export function npmLockfile(manifest: object): string {
  const folder = mkdtempSync(join(tmpdir(), "berth-lock-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    execFileSync(
      "npm",
      ["install", "--package-lock-only", "--no-omit-lockfile-registry-resolved", "--no-audit", "--no-fund"],
      {
        cwd: folder,
        stdio: ["ignore", "ignore", "inherit"],
        env: { ...process.env, npm_config_loglevel: "error" },
      },
    );
    return readFileSync(join(folder, "package-lock.json"), "utf8");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface DefaultPlacement {
  readonly project_uuid: string;
  readonly server_uuid: string;
  readonly environment_name: string;
}

/** The project and local server that the first start creates. */
export async function placeOf(server: TestServer): Promise<DefaultPlacement> {
  const projects = (await server.rest("GET", "/projects")).body as { uuid: string }[];
  const servers = (await server.rest("GET", "/servers")).body as { uuid: string; name: string }[];
  const local = servers.find(({ name }) => name === "localhost");
  if (projects[0] === undefined || local === undefined) throw new Error("A first start makes a project and a server.");
  return { project_uuid: projects[0].uuid, server_uuid: local.uuid, environment_name: "production" };
}

export interface Deployed {
  readonly uuid: string;
  /** Host name of the application's first URL. */
  readonly host: string;
}

/** Creates an application from a repository. Nothing is deployed yet. */
export async function createApplication(
  server: TestServer,
  repository: TestRepository,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<Deployed> {
  const fields = {
    ...(await placeOf(server)),
    git_repository: repository.url,
    git_branch: "main",
    build_pack: "nixpacks",
    ports_exposes: "3000",
    ...settings,
  };
  // On a busy machine the database may seem to hang, and Berth asks to try again.
  const { status, body } = await until(async () => {
    const answer = await server.rest("POST", "/applications/public", fields);
    return answer.status === 503 ? undefined : answer;
  });
  if (status !== 201) throw new Error(`Not created: ${status} ${JSON.stringify(body)}`);
  const { uuid, fqdn } = body as { uuid: string; fqdn: string };
  return { uuid, host: new URL(fqdn.split(",", 1)[0] ?? "").hostname };
}

export interface Outcome {
  readonly uuid: string;
  readonly status: string;
  readonly error: string | null;
  readonly log: string;
  readonly steps: readonly { readonly name: string; readonly status: string }[];
}

export async function requestDeployment(server: TestServer, uuid: string): Promise<string> {
  const { status, body } = await server.rest("POST", `/deploy?uuid=${uuid}&force=false`);
  const deployment = (body as { deployments?: { deployment_uuid?: string }[] }).deployments?.[0]?.deployment_uuid;
  if (status !== 200 || deployment === undefined) throw new Error(`Not queued: ${status} ${JSON.stringify(body)}`);
  return deployment;
}

export async function outcomeOf(server: TestServer, deploymentUuid: string, deadlineMs = 120_000): Promise<Outcome> {
  const ended = await until(
    async () => {
      assertRunning(server);
      const { body } = await server.rest("GET", `/deployments/${deploymentUuid}`).catch(() => ({ body: {} }));
      const deployment = body as { status?: string; error?: string | null };
      return ["queued", "in_progress", undefined].includes(deployment.status) ? undefined : deployment;
    },
    { seconds: deadlineMs / 1000 },
  );
  const page = (await server.rest("GET", `/deployments/${deploymentUuid}/logs`)).body as {
    lines: { output: string }[];
  };
  const steps = (await server.rest("GET", `/deployments/${deploymentUuid}/steps`)).body as Outcome["steps"];
  return {
    uuid: deploymentUuid,
    status: ended.status ?? "",
    error: ended.error ?? null,
    log: page.lines.map(({ output }) => output).join("\n"),
    steps,
  };
}

export async function deploy(server: TestServer, uuid: string): Promise<Outcome> {
  return await outcomeOf(server, await requestDeployment(server, uuid));
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Creates an object. @returns Its uuid. */
export async function made(server: TestServer, path: string, fields: object): Promise<string> {
  const { status, body } = await server.rest("POST", path, fields);
  if (status !== 201) throw new Error(`Not made: ${path} ${status} ${JSON.stringify(body)}`);
  return (body as { uuid: string }).uuid;
}

/** Deploys for the first time. @throws Error when the deployment does not finish. */
export async function deployFirst(server: TestServer, uuid: string): Promise<void> {
  const outcome = await deploy(server, uuid);
  if (outcome.status !== "finished") throw new Error(`The first deployment ${outcome.status}: ${outcome.log}`);
}

/** Sends a request through the server's proxy. */
export const get = (server: TestServer, host: string, path = "/"): Promise<Answer> =>
  visit({ host: "127.0.0.1", port: server.proxyPort, path }, host);

/** Sends a request through any proxy. */
export function visit(
  proxy: { host: string; port: number; path?: string },
  host: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...proxy, headers: { ...headers, host }, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** Body of an answer with status 200 over a persistent connection, never repeated, as strict clients do. */
export function getKept(server: TestServer, host: string, agent: Agent, path = "/"): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port: server.proxyPort, path, agent, headers: { host } }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      response.on("end", () =>
        response.statusCode === 200 ? resolve(body) : reject(new Error(`${response.statusCode} ${body}`)),
      );
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}
