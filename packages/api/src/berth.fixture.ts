import { createHash } from "node:crypto";
import { type ControlDeps, control, signIns, signInTries, webhooks } from "@berth/control";
import type { Stores } from "@berth/core/ports";
import { type Ability, ROOT_USER_ID, tokenText } from "@berth/core/team";
import {
  type PrintingEngine,
  printingEngine,
  refusingCloud,
  refusingPasskeys,
  refusingProviders,
  type TestDatabase,
  type TestPlace,
  testBackupFiles,
  testBucket,
  testCertificates,
  testCluster,
  testDatabase,
  testGitHost,
  testKeyReader,
  testMagic,
  testPasswords,
  testPlace,
  testSites,
  testTemplates,
  testUuid,
} from "@berth/testing";
import fastifyWebsocket from "@fastify/websocket";
import Fastify, { type FastifyInstance } from "fastify";
import { admission } from "./admission.ts";
import { answerCheck } from "./answers.fixture.ts";
import { hashOfSecret } from "./auth.ts";
import { browsers } from "./browser.ts";
import { restPlugin } from "./rest/plugin.ts";
import { serverOptions } from "./rest/server-options.ts";
import { appRouter } from "./root.ts";
import { terminalSocket } from "./terminal-socket.ts";
import { trpcPlugin } from "./trpc-plugin.ts";
import { SOCKET_OPTIONS } from "./trpc-socket.ts";
import { webhookPlugin } from "./webhook/plugin.ts";

/** Berth's whole API on a database with two teams. No worker runs: what is queued stays queued. */
export interface Served {
  readonly app: FastifyInstance;
  readonly db: TestDatabase;
  readonly engine: PrintingEngine;
  readonly stores: Stores;
  readonly place: TestPlace;
  /** The place, as in the input of a creation. */
  readonly where: Where;
  /** Has all abilities in the team of `place`. */
  readonly token: string;
  readonly otherTeam: OtherTeam;
  /** Token of the root team. */
  readonly rootToken: string;
  tokenWith(...abilities: Ability[]): Promise<string>;
  ask(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, options?: AskOptions): Promise<Answer>;
  readonly faults: unknown[];
  close(): Promise<void>;
}

export interface Where {
  readonly project_uuid: string;
  readonly environment_name: string;
  readonly server_uuid: string;
}

export interface OtherTeam extends Pick<Served, "token" | "where" | "stores" | "place"> {
  /** With the ability `root`. */
  readonly powerfulToken: string;
}

/** The same API with the token of the other team. */
export const asOtherTeam = (api: Served): Served => ({
  ...api,
  ...api.otherTeam,
  ask: (method, path, options) => api.ask(method, path, { token: api.otherTeam.token, ...options }),
});

export interface AskOptions {
  /** `null`: none. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly upload?: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests say themselves what an answer's body should hold.
  readonly json: any;
  readonly text: string;
}

export async function served(
  optionsFor: Partial<ControlDeps> | ((db: TestDatabase) => Partial<ControlDeps>) = {},
  { publicUrl = null }: { readonly publicUrl?: string | null } = {},
): Promise<Served> {
  const db = await testDatabase();
  const given = typeof optionsFor === "function" ? optionsFor(db) : optionsFor;
  const options = { instanceUrl: publicUrl, ...given };
  const engine = printingEngine();
  const faults: unknown[] = [];
  const teamIds = [];
  for (const name of ["Own", "Other"]) {
    teamIds.push((await db.stores().teams.insert({ name, description: null })).id);
  }
  const [ownId = 0, otherId = 0] = teamIds;
  const stores = db.stores(ownId);
  const place = await testPlace(stores);
  const otherStores = db.stores(otherId);
  const otherPlace = await testPlace(otherStores);
  const token = await makeToken(db, ownId, EVERYTHING);
  const app = application(db, engine, faults, options);
  await app.ready();
  return {
    app,
    db,
    engine,
    stores,
    place,
    where: whereOf(place),
    token,
    otherTeam: {
      token: await makeToken(db, otherId, EVERYTHING),
      powerfulToken: await makeToken(db, otherId, ["root"]),
      where: whereOf(otherPlace),
      stores: otherStores,
      place: otherPlace,
    },
    rootToken: await makeToken(db, 0, ["root"]),
    tokenWith: (...abilities) => makeToken(db, ownId, abilities),
    ask: (method, path, options = {}) => ask(app, method, path, { token, ...options }),
    faults,
    async close() {
      await app.close();
      await db.close();
    },
  };
}

const EVERYTHING: Ability[] = ["read", "read:sensitive", "write", "write:sensitive", "deploy"];

export const whereOf = ({ project, environment, server }: TestPlace): Where => ({
  project_uuid: project.uuid,
  environment_name: environment.name,
  server_uuid: server.uuid,
});

async function makeToken(db: TestDatabase, team_id: number, abilities: readonly Ability[]): Promise<string> {
  const secret = testUuid();
  const made = {
    team_id,
    user_id: ROOT_USER_ID,
    name: "test",
    abilities,
    hash: hashOfSecret(secret),
    expires_at: null,
  };
  const { id } = await db.stores(team_id).tokens.insert(made);
  return tokenText(id, secret);
}

function application(
  db: TestDatabase,
  engine: PrintingEngine,
  faults: unknown[],
  options: Partial<ControlDeps>,
): FastifyInstance {
  const app = Fastify({ ...serverOptions, forceCloseConnections: true });
  app.register(fastifyWebsocket, SOCKET_OPTIONS);
  const clock = { now: () => new Date() };
  const ids = { uuid: testUuid, secret: (length: number) => testUuid().repeat(6).slice(0, length) };
  const people = {
    ...{ system: db.system, passwords: testPasswords, tries: signInTries(clock), hashToken: hashOfSecret },
    ...{ providers: refusingProviders, passkeyVerifier: refusingPasskeys, instanceUrl: null },
  };
  const shared = {
    router: appRouter,
    browsers: browsers(options.instanceUrl ?? null),
    signIns: signIns({ ...people, clock, ids, ...options }),
    admission: admission({ authenticator: db.authenticator, requestsPerMinute: 0, now: () => new Date() }),
    controlFor: control({
      stores: db.storesFor,
      engineFor: ({ uuid }) => ({ ...engine, cluster: testCluster(uuid) }),
      publicUrl,
      urlProblem: () => undefined,
      servesHttps: () => true,
      reportedVersion: "4.0.0-test",
      keys: testKeyReader,
      addresses: { isOwn: async () => false },
      sites: testSites,
      teamServersMax: null,
      gitHost: testGitHost(),
      cloud: refusingCloud,
      objectStorage: () => testBucket(),
      backupFiles: testBackupFiles(),
      verifyContent: (content) => content,
      wait: async () => undefined,
      clock,
      ids,
      magic: testMagic,
      certificates: testCertificates,
      sendNotification: async () => ({ isDelivered: false, problem: "Nothing is sent in tests.", isFinal: true }),
      templates: testTemplates,
      ...people,
      source: { defaultBranch: async () => "trunk", saveUpload: (_uuid, archive) => digest(archive) },
      ...options,
    }),
    limitReads: db.limitReads,
    onFault: (error: unknown) => void faults.push(error),
  };
  app.register(restPlugin, { prefix: "/api/v1", ...shared, bodyLimit: 1_048_576, pingSeconds: 15, docsUrl: "/docs" });
  app.register(trpcPlugin, { prefix: "/trpc", ...shared });
  app.register(terminalSocket, { prefix: "/terminal", ...shared });
  const received = webhooks({
    stores: db.system,
    ids: { uuid: testUuid, secret: testUuid },
    instanceUrl: null,
    publicUrl,
  });
  app.register(webhookPlugin, { prefix: "/webhooks", ...shared, webhooks: received });
  return app;
}

/** As behind a proxy on port 8000. */
const publicUrl = (url: string) => url.replace(/^(https?:\/\/[^/:]+)(:\d+)?/, "$1:8000");

async function digest(archive: AsyncIterable<Uint8Array>) {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of archive) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { commit: hash.digest("hex"), sizeBytes };
}

async function ask(
  app: FastifyInstance,
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  { token, body, upload }: AskOptions,
): Promise<Answer> {
  const response = await app.inject({
    method,
    url: `/api/v1${path}`,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(upload === undefined ? {} : { "content-type": "application/gzip" }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    ...(upload === undefined ? {} : { payload: upload }),
  });
  const isJson = /json/.test(String(response.headers["content-type"]));
  const answer = {
    status: response.statusCode,
    headers: response.headers,
    json: isJson ? response.json() : undefined,
    text: response.body,
  };
  (await answerCheck())(method, path, answer);
  return answer;
}

/** Valid input for an application from git. */
export const gitApplication = ({ where }: { readonly where: Where }, fields: object = {}) => ({
  ...where,
  git_repository: "https://git.example/team/hello.git",
  git_branch: "main",
  build_pack: "nixpacks",
  ...fields,
});

/** Creates an application, returns its uuid. */
export async function createdApplication(api: Served, fields: object = {}): Promise<string> {
  const { status, json } = await api.ask("POST", "/applications/public", { body: gitApplication(api, fields) });
  if (status !== 201) throw new Error(`It was not created: ${JSON.stringify(json)}`);
  return json.uuid;
}

/** Creates a PostgreSQL database, returns its uuid. */
export async function createdDatabase(api: Served, fields: object = {}): Promise<string> {
  const { status, json } = await api.ask("POST", "/databases/postgresql", { body: { ...api.where, ...fields } });
  if (status !== 201) throw new Error(`It was not created: ${JSON.stringify(json)}`);
  return json.uuid;
}

export const COMPOSE = "services:\n  web:\n    image: nginx:1.27\n  db:\n    image: postgres:16\n";

/** Creates a service, returns its uuid. */
export async function createdService(api: Served, fields: object = {}): Promise<string> {
  const body = { ...api.where, docker_compose: COMPOSE, ...fields };
  const { status, json } = await api.ask("POST", "/services", { body });
  if (status !== 201) throw new Error(`It was not created: ${JSON.stringify(json)}`);
  return json.uuid;
}
