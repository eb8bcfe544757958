import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@berth/client";
import { type AnswerCheck, answerCheckOf, copyDatabase, until } from "@berth/testing";
import { freshBuild } from "../../../tooling/build/fresh.mjs";
import { SERVER_ENV, SERVER_FLAGS } from "../../../tooling/server-flags.mjs";

/** The built program. */
export const MAIN = join(freshBuild("server"), "main.js");
const DESCRIPTION = fileURLToPath(new URL("../../../openapi.json", import.meta.url));
/** A run starts hundreds of servers, which share one compile cache. */
const COMPILE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/berth-compile", import.meta.url));
const START_DEADLINE_MS = 240_000; // A bound for one that hangs: a start takes a second on a machine that has nothing else to do.
const GIVE_UP_SECONDS = 60;

export interface ServerOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Another program instead of `MAIN`, such as one with faults. */
  readonly main?: string;
  /** Default: a temporary folder with a copy of the run's database. In a folder of its own a server creates one itself. */
  readonly dataFolder?: string;
  /** Default: `START_DEADLINE_MS` */
  readonly startSeconds?: number;
}

export interface TestServer {
  readonly url: string;
  readonly proxyPort: number;
  readonly dataFolder: string;
  readonly token: string;
  readonly client: ReturnType<typeof createClient>;
  /** A client with another token. */
  clientAs(token: string): ReturnType<typeof createClient>;
  /** Everything it has printed so far. */
  output(): string;
  /** Calls the REST API. Throws when an answer does not match the API description. */
  rest(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown; headers: Headers }>;
  pid(): number;
  /** Stops it like a user's Ctrl-C, and resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Kills it with SIGKILL, and waits for its exit. */
  kill(): Promise<void>;
  /** Starts it again on the same data and ports. */
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Whether the process has ended without being told to. */
  hasEnded(): boolean;
  /** Resolves when the process has exited by itself. */
  exited(): Promise<number | null>;
  /** Stops all of its processes and removes its data. */
  dispose(): Promise<void>;
}

const CHECK = Symbol.for("berth.test.answers");
// In the global scope, since a worker loads modules once for each file.
const shared = globalThis as { [CHECK]?: AnswerCheck };

/**
 * Made once for all servers of a worker, from the written description, which `tooling/openapi/write.ts --check` compares
 * with the code, and `start.test.ts` with what a server serves. Generating it takes each server half a second of CPU.
 */
function answerCheck(): AnswerCheck {
  shared[CHECK] ??= answerCheckOf(JSON.parse(readFileSync(DESCRIPTION, "utf8")));
  return shared[CHECK];
}

/** A real server in a process of its own, on free ports and a temporary data folder. */
export async function testServer(options: ServerOptions = {}): Promise<TestServer> {
  const dataFolder = options.dataFolder ?? mkdtempSync(join(tmpdir(), "berth-"));
  if (options.dataFolder === undefined && options.env?.BERTH_DATABASE_URL === undefined) await copyDatabase(dataFolder);
  const [apiPort, proxyPort] = await freePorts(2);
  const url = `http://127.0.0.1:${apiPort}`;
  const base = {
    PATH: process.env.PATH ?? "",
    HOME: process.env.HOME ?? dataFolder,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    // A test's server is not one that its user's command line should find.
    XDG_STATE_HOME: dataFolder,
    BERTH_DATA: dataFolder,
    BERTH_HOST: "127.0.0.1",
    BERTH_PORT: String(apiPort),
    BERTH_PROXY_HOST: "127.0.0.1",
    BERTH_PROXY_PORT: String(proxyPort),
    // Many servers share this machine's engine, so only tests that need it enable it.
    BERTH_DOCKER: "off",
    BERTH_EXAMPLE: "off",
    BERTH_RATE_LIMIT: "0",
    ...options.env,
  };
  let running = run(options.main ?? MAIN, base);
  await running.ready(url, options.startSeconds);
  const { token } = JSON.parse(readFileSync(join(dataFolder, "cli.json"), "utf8")) as { token: string };

  return {
    url,
    proxyPort: Number(proxyPort),
    dataFolder,
    token,
    client: createClient({ url, token }),
    clientAs: (other) => createClient({ url, token: other }),
    output: () => running.output(),
    pid: () => running.pid,
    rest: async (method, path, body) => {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.includes("json");
      const answered = isJson ? JSON.parse(text) : text;
      const { status, headers: answerHeaders } = response;
      answerCheck()(method, path, { status, json: isJson ? answered : undefined });
      return { status, body: answered, headers: answerHeaders };
    },
    stop: () => running.end("SIGTERM"),
    kill: async () => void (await running.end("SIGKILL")),
    hasEnded: () => running.hasEnded(),
    exited: () => running.exited,
    start: async (env = {}) => {
      running = run(options.main ?? MAIN, { ...base, ...env });
      await running.ready(url);
    },
    dispose: async () => {
      // A killed server leaves applications, proxy and database running: a start and a stop end them.
      if (!running.isRunning()) {
        running = run(MAIN, base);
        await running.ready(url).catch(() => {});
      }
      await running.end("SIGTERM");
      rmSync(dataFolder, { recursive: true, force: true });
    },
  };
}

/**
 * For loops that wait for an answer, which a server that has ended never gives.
 * @throws Error with the end of its output
 */
export function assertRunning(server: Pick<TestServer, "hasEnded" | "output">): void {
  if (server.hasEnded()) throw new Error(`The server ended unexpectedly:\n${server.output().slice(-2000)}`);
}

/** Runs a server whose start must fail, and waits for its exit. */
export async function failedStart(
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const running = run(MAIN, { PATH: process.env.PATH ?? "", BERTH_EXAMPLE: "off", ...env });
  const code = await running.exited;
  return { code, output: running.output() };
}

function run(main: string, env: Readonly<Record<string, string>>) {
  const child: ChildProcess = spawn(process.execPath, [...SERVER_FLAGS, main], {
    env: { ...SERVER_ENV, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  let isToldToEnd = false;
  const end = async (signal: NodeJS.Signals) => {
    isToldToEnd = true;
    if (isRunning()) child.kill(signal);
    return await exited;
  };
  /** A start that failed leaves no process; its database and proxy are stopped where it still can. */
  const giveUp = async () => {
    const killing = setTimeout(() => child.kill("SIGKILL"), GIVE_UP_SECONDS * 1000);
    await end("SIGTERM");
    clearTimeout(killing);
  };
  return {
    pid: child.pid ?? 0,
    exited,
    isRunning,
    hasEnded: () => !isRunning() && !isToldToEnd,
    output: () => output,
    end,
    ready: async (url: string, seconds = START_DEADLINE_MS / 1000) => {
      const isHealthy = () =>
        fetch(`${url}/api/health`).then(
          (response) => response.ok,
          () => false,
        );
      // The API answers before the start is complete, which the output shows.
      await until(
        async () => {
          if (!isRunning()) throw new Error(`The server ended instead of starting:\n${output}`);
          return output.includes("Docs  ") && (await isHealthy());
        },
        { seconds },
      ).catch(async (cause: unknown) => {
        await giveUp();
        throw cause;
      });
    },
  };
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  return await Promise.all(
    servers.map(async (server) => {
      const address = server.address();
      await new Promise((resolve) => server.close(resolve));
      if (address === null || typeof address === "string") throw new Error("no port");
      return address.port;
    }),
  );
}
