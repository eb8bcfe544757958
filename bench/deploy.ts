// A deployment compared with the same commands by hand: fetch the commit, install, start, poll until it answers.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createApplication,
  deploy,
  npmLockfile,
  plainServer,
  requestDeployment,
  temporaryRepository,
} from "../apps/server/e2e/applications.fixture.ts";
import { freePorts, type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { until } from "../packages/testing/src/index.ts";
import { finished, retired, steps } from "./deployment.ts";
import { cpuMs, median } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";

const ROUNDS = 3;
const PLAIN_ROUNDS = 7;
const AT_ONCE = 24;
const MANIFEST = {
  name: "shop",
  version: "1.0.0",
  private: true,
  scripts: { build: "node build.js", start: "node index.js" },
  dependencies: { express: "4.21.2" },
};
/** A build with some work: otherwise the ratio would be that of two small numbers. */
const BUILD =
  "const { createHash } = require('node:crypto'); let h = 'x'; for (let i = 0; i < 600000; i++) h = createHash('sha256').update(h).digest('hex'); console.log(h);";
const server = (version: number) =>
  `require('express')().get('/', (q, r) => r.send('${version}')).listen(process.env.PORT);`;

/** A source, and how it is run by hand. */
interface Sample {
  readonly files: Readonly<Record<string, string>>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly isBuilt: boolean;
  readonly program: string;
  /** Files of the commit that is deployed in a round. */
  change(round: number): Readonly<Record<string, string>>;
}

const built = (): Sample => ({
  files: {
    "package.json": JSON.stringify(MANIFEST),
    "package-lock.json": npmLockfile(MANIFEST),
    "build.js": BUILD,
    "index.js": server(0),
  },
  settings: {},
  isBuilt: true,
  program: "index.js",
  change: (round) => ({ "index.js": server(round) }),
});

const { "server.js": PLAIN = "" } = plainServer("1") as Readonly<Record<string, string>>;
const plain: Sample = {
  files: { "server.js": PLAIN },
  settings: { start_command: "node server.js" },
  isBuilt: false,
  program: "server.js",
  change: (round) => ({ round: String(round) }),
};

export async function benchDeploy(): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "berth-pieces-"));
  const pieces = join(folder, "pieces");
  const monitor = fileURLToPath(new URL("./loop-monitor.ts", import.meta.url));
  const watched = { BERTH_BENCH_PIECES: pieces, NODE_OPTIONS: `--import ${monitor}` };
  try {
    return [
      ...(await withServer({}, async (berth) => [
        atMost("Deployment against the same commands by hand", await ratio(berth, built(), ROUNDS), 1.1),
        atMost("Deployment without a build against the same by hand", await ratio(berth, plain, PLAIN_ROUNDS), 1.6),
        ...(await atOnce(berth)),
      ])),
      ...(await withServer(watched, (berth) => longestPieces(berth, pieces))),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withServer<T>(
  env: Readonly<Record<string, string>>,
  work: (berth: TestServer) => Promise<T>,
): Promise<T> {
  const berth = await testServer({ env });
  try {
    return await work(berth);
  } finally {
    await berth.dispose();
  }
}

/** Time of a new commit's deployment against the same commands by hand, in turns. */
async function ratio(berth: TestServer, sample: Sample, rounds: number): Promise<number> {
  const repository = temporaryRepository(sample.files);
  const folder = mkdtempSync(join(tmpdir(), "berth-by-hand-"));
  try {
    const { uuid } = await createApplication(berth, repository, sample.settings);
    await deploy(berth, uuid);
    await byHand(repository.url, folder, sample, 0);
    const ratios: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      repository.commit(sample.change(round));
      const hand = await byHand(repository.url, folder, sample, round);
      const startedAt = performance.now();
      const deployment = await requestDeployment(berth, uuid);
      await finished(berth, deployment);
      const ours = performance.now() - startedAt;
      console.log(`  by hand ${hand.toFixed(0)} ms, Berth ${ours.toFixed(0)} ms: ${await steps(berth, deployment)}`);
      ratios.push(ours / hand);
      await retired(berth, deployment);
    }
    return median(ratios);
  } finally {
    repository.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Many applications without a build, all deployed again at the same moment. */
async function atOnce(berth: TestServer): Promise<readonly Figure[]> {
  const repository = temporaryRepository(plain.files);
  try {
    const uuids: string[] = [];
    for (let number = 0; number < AT_ONCE; number += 1) {
      uuids.push((await createApplication(berth, repository, { ...plain.settings, name: `app-${number}` })).uuid);
    }
    const all = async () => {
      const deployments = await Promise.all(uuids.map((uuid) => requestDeployment(berth, uuid)));
      await Promise.all(deployments.map((deployment) => finished(berth, deployment)));
      return deployments;
    };
    for (const deployment of await all()) await retired(berth, deployment);
    repository.commit(plain.change(1));
    const beforeMs = cpuMs(berth.pid());
    const startedAt = performance.now();
    await all();
    const seconds = (performance.now() - startedAt) / 1000;
    return [
      atMost(`${AT_ONCE} deployments without a build at once`, seconds, 2.6, " s"),
      atMost(
        `${AT_ONCE} deployments without a build at once, CPU of the server`,
        (cpuMs(berth.pid()) - beforeMs) / 1000,
        1.65,
        " s",
      ),
    ];
  } finally {
    repository.dispose();
  }
}

/** Of a deployment without a build, until the previous release is removed. */
async function longestPieces(berth: TestServer, file: string): Promise<readonly Figure[]> {
  const repository = temporaryRepository(plain.files);
  const taken = async () => {
    rmSync(file, { force: true });
    process.kill(berth.pid(), "SIGUSR2");
    return await until(() => {
      try {
        return JSON.parse(readFileSync(file, "utf8")) as readonly number[];
      } catch {
        return undefined;
      }
    });
  };
  try {
    const { uuid } = await createApplication(berth, repository, plain.settings);
    const found: (readonly number[])[] = [];
    for (let round = 0; round <= PLAIN_ROUNDS; round += 1) {
      repository.commit(plain.change(round + 1));
      await taken();
      const deployment = await requestDeployment(berth, uuid);
      await finished(berth, deployment);
      await retired(berth, deployment);
      // The first one compiles what the others use.
      if (round > 0) found.push(await taken());
    }
    const longest = median(found.map((pieces) => Math.max(...pieces)));
    const longer = median(found.map((pieces) => pieces.filter((ms) => ms > PIECE_MS_MAX).length));
    return [
      atMost("Longest piece of the event loop in a deployment without a build, CPU", longest, PIECE_MS_MAX, " ms"),
      told(`Pieces of more than ${PIECE_MS_MAX} ms in it`, longer),
    ];
  } finally {
    repository.dispose();
  }
}

const PIECE_MS_MAX = 2;

async function byHand(url: string, folder: string, sample: Sample, round: number): Promise<number> {
  const cwd = join(folder, String(round));
  const mirror = join(folder, "mirror.git");
  const [port = 0] = await freePorts(1);
  const env = {
    ...process.env,
    PORT: String(port),
    npm_config_cache: join(folder, "npm"),
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
  const run = (program: string, args: readonly string[], options: { readonly cwd?: string } = {}) =>
    execFileSync(program, args, { env, stdio: ["ignore", "ignore", "ignore"], ...options });
  if (round === 0) run("git", ["clone", "--quiet", "--mirror", url, mirror]);
  const startedAt = performance.now();
  run("git", ["fetch", "--quiet", "--prune"], { cwd: mirror });
  run("git", ["clone", "--quiet", "--shared", mirror, cwd]);
  if (sample.isBuilt) {
    run("npm", ["ci"], { cwd });
    run("npm", ["run", "build"], { cwd });
  }
  const child = spawn("node", [sample.program], { cwd, env, stdio: "ignore" });
  while (
    !(await fetch(`http://127.0.0.1:${port}/`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const took = performance.now() - startedAt;
  child.kill();
  return took;
}
