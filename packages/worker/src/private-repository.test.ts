import { readdirSync, readFileSync, statSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isTerminal } from "@berth/core/deploy";
import type { DeploymentRecord, PrivateKeyRecord, Stores } from "@berth/core/ports";
import { processBuilder, processEngine } from "@berth/engine";
import { redactor } from "@berth/host";
import { embeddedProxy } from "@berth/proxy";
import { sourceFetcher } from "@berth/source";
import {
  createRepository,
  type GitSshServer,
  newDeployment,
  type SshKeyPair,
  sshKeyPair,
  startGitSshServer,
  type TestDatabase,
  type TestPlace,
  type TestRepository,
  testApplication,
  testDatabase,
  testPlace,
  testUuid,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keyCredentials } from "./git-credentials.ts";
import { worker } from "./worker.ts";

let root: string;
let database: TestDatabase;
let stores: Stores;
let place: TestPlace;
let pair: SshKeyPair;
let git: GitSshServer;
let repository: TestRepository;
let tip: string;
let close: () => Promise<void>;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "berth-private-"));
  await chmod(root, 0o711);
  pair = sshKeyPair();
  git = await startGitSshServer({ root: join(root, "repositories"), publicKey: pair.publicKey });
  repository = createRepository(join(root, "repositories", "app"));
  tip = repository.commit({ "index.html": "private" }, "Say private");
  database = await testDatabase();
  stores = database.stores();
  place = await testPlace(stores);
  close = await openWorker();
});

afterAll(async () => {
  await close?.();
  await git?.close();
  await database?.close();
  await rm(root, { recursive: true, force: true });
});

/** Uses the product's own parts, from the key's record to the running site. */
async function openWorker() {
  const engine = processEngine({ dataFolder: join(root, "apps"), builder: processBuilder() });
  const proxy = await embeddedProxy({
    folder: join(root, "proxy"),
    host: "127.0.0.1",
    port: 0,
    nodePath: process.execPath,
  });
  const made = worker({
    stores: database.system,
    engineFor: () => engine,
    proxyFor: () => proxy,
    source: sourceFetcher({
      folder: join(root, "sources"),
      allowFileProtocol: false,
      allowedPrivateHosts: ["127.0.0.1"],
    }),
    credentialsFor: keyCredentials(database.system),
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

const key = ({ privateKey, publicKey }: SshKeyPair): Promise<PrivateKeyRecord> =>
  stores.privateKeys.insert({
    uuid: testUuid(),
    name: "deploy key",
    description: null,
    public_key: publicKey,
    fingerprint: testUuid(),
    is_http_basic_auth_enabled: false,
    http_basic_auth_username: null,
    secrets: { private_key: privateKey, ssh_key: privateKey, http_basic_auth_password: null },
  });

async function deployed(keyId: number | null): Promise<{ ended: DeploymentRecord; log: string; uuid: string }> {
  const settings = {
    git_repository: `${git.url}/app`,
    git_branch: "main",
    build_pack: "static",
  } as const;
  const application = await testApplication(stores, place, { settings });
  await stores.applications.update(application.id, { private_key_id: keyId });
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
  return { ended, log: lines.map(({ output }) => output).join("\n"), uuid: application.uuid };
}

describe("a private repository", () => {
  test("is deployed with the application's key, which is left nowhere", async () => {
    const { ended, log } = await deployed((await key(pair)).id);
    expect([ended.status, ended.error, ended.commit]).toEqual(["finished", null, tip]);
    expect(git.commands).toContain("git-upload-pack '/app'");
    const secret = pair.privateKey.split("\n")[2] ?? "";
    expect(secret.length).toBeGreaterThan(20);
    expect(log).not.toContain(secret);
    const files = ["sources", "apps"].flatMap((folder) => filesBelow(join(root, folder)));
    expect(files.length).toBeGreaterThan(5);
    expect(files.filter((file) => readFileSync(file, "latin1").includes(secret))).toEqual([]);
  });

  test("is not deployed without its key or with another, and the reason says what to do", async () => {
    const without = await deployed(null);
    expect([without.ended.status, without.ended.error]).toEqual([
      "failed",
      expect.stringContaining("Select a private key"),
    ]);
    const other = await deployed((await key(sshKeyPair())).id);
    expect([other.ended.status, other.ended.error]).toEqual([
      "failed",
      expect.stringContaining("Add its public key there as a deploy key"),
    ]);
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false);
}
