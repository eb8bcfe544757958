// A deployment compared with the same commands by hand: fetch the commit, install, start, poll until it answers.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createApplication,
  deploy,
  npmLockfile,
  requestDeployment,
  temporaryRepository,
} from "../apps/server/e2e/applications.fixture.ts";
import { freePorts, testServer } from "../apps/server/e2e/server.fixture.ts";
import { finished } from "./deployment.ts";
import { median } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const ROUNDS = 3;
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

export async function benchDeploy(): Promise<readonly Figure[]> {
  const repository = temporaryRepository({
    "package.json": JSON.stringify(MANIFEST),
    "package-lock.json": npmLockfile(MANIFEST),
    "build.js": BUILD,
    "index.js": server(0),
  });
  const berth = await testServer();
  const folder = mkdtempSync(join(tmpdir(), "berth-by-hand-"));
  try {
    const { uuid } = await createApplication(berth, repository, { name: "shop" });
    await deploy(berth, uuid);
    await byHand(repository.url, folder, 0);
    const ratios: number[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      repository.commit({ "index.js": server(round) });
      const hand = await byHand(repository.url, folder, round);
      const startedAt = performance.now();
      const deployment = await requestDeployment(berth, uuid);
      await finished(berth, deployment);
      const ours = performance.now() - startedAt;
      console.log(`  by hand ${hand.toFixed(0)} ms, Berth ${ours.toFixed(0)} ms`);
      ratios.push(ours / hand);
    }
    return [atMost("Deployment against the same commands by hand", median(ratios), 1.15)];
  } finally {
    await berth.dispose();
    repository.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function byHand(url: string, folder: string, round: number): Promise<number> {
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
  run("npm", ["ci"], { cwd });
  run("npm", ["run", "build"], { cwd });
  const child = spawn("node", ["index.js"], { cwd, env, stdio: "ignore" });
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
