// `npm run bench [read|lists|start|deploy|wide ...]`: measures the figures in docs/performance.md. Both sides of a
// ratio are measured in one run. `--write` writes the page.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { benchClusterDeploy } from "./cluster-deploy.ts";
import { benchDashboard } from "./dashboard.ts";
import { benchDatabaseStart } from "./database-start.ts";
import { benchDeploy } from "./deploy.ts";
import { benchDockerDeploy } from "./docker-deploy.ts";
import { benchDockerSwitch } from "./docker-switch.ts";
import { benchClusterWatch, benchFleet } from "./fleet.ts";
import { benchLargeFleet } from "./large-fleet.ts";
import { endAllOf } from "./leftovers.ts";
import { benchLists } from "./lists.ts";
import { withRun } from "./page.ts";
import { benchProxy } from "./proxy.ts";
import { benchProxyChange } from "./proxy-change.ts";
import { benchRead } from "./read.ts";
import { type Figure, table } from "./report.ts";
import { benchSlowClients } from "./slow-clients.ts";
import { benchStart } from "./start.ts";
import { benchSwitch } from "./switch.ts";
import { benchWide } from "./wide.ts";

const BENCHES = {
  start: benchStart,
  read: benchRead,
  lists: benchLists,
  "slow-clients": benchSlowClients,
  deploy: benchDeploy,
  "docker-deploy": benchDockerDeploy,
  "cluster-deploy": benchClusterDeploy,
  "database-start": benchDatabaseStart,
  switch: benchSwitch,
  "docker-switch": benchDockerSwitch,
  proxy: benchProxy,
  "proxy-change": benchProxyChange,
  dashboard: benchDashboard,
  fleet: benchFleet,
  "large-fleet": benchLargeFleet,
  "cluster-watch": benchClusterWatch,
  wide: benchWide,
} as const;
type Name = keyof typeof BENCHES;

/**
 * Run at once: they wait more than they compute, and count failures, or what their own processes use. All of the benches
 * would take longer than a run may.
 */
const AT_ONCE: readonly (readonly Name[])[] = [
  ["switch", "proxy-change"],
  ["fleet", "cluster-watch", "wide"],
];

/** Takes too long beside all others, so it is run only when it is named. */
const ONLY_NAMED: ReadonlySet<Name> = new Set(["large-fleet"]);

const isName = (name: string): name is Name => name in BENCHES;
const MINUTES_MAX = 10;
const PAGE = new URL("../docs/performance.md", import.meta.url);

const isWritten = process.argv.includes("--write");
const asked = process.argv.slice(2).filter((argument) => argument !== "--write");
const unknown = asked.filter((name) => !isName(name));
if (unknown.length > 0) {
  console.error(`Unknown bench ${unknown.join(", ")}. Choose of: ${Object.keys(BENCHES).join(", ")}.`);
  process.exit(2);
}
if (isWritten && asked.length > 0) {
  console.error("--write writes a run of all benches. Name none of them.");
  process.exit(2);
}

// All that the benches make lies in this folder, which is how their processes are found again.
const folder = mkdtempSync(join(tmpdir(), "bench-"));
chmodSync(folder, 0o711); // Databases and applications run as other users.
process.env.TMPDIR = folder;
const ended = new Promise<"interrupted" | "late">((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve("interrupted"));
  setTimeout(resolve, MINUTES_MAX * 60_000, "late").unref();
});

let end: "interrupted" | "late" | undefined;
// A bench that the time has ended loses its servers: what it still asks of them fails.
process.on("unhandledRejection", (error) => {
  if (end === undefined) throw error;
});

const figures: Figure[] = [];
const notMeasured = (name: Name): Figure => ({
  name: `All of the bench ${name}`,
  measured: "not measured",
  wanted: "",
  isReached: false,
});
const wanted = Object.keys(BENCHES)
  .filter(isName)
  .filter((name) => (asked.length === 0 ? !ONLY_NAMED.has(name) : asked.includes(name)));
const done = new Set<Name>();
const groups = new Set(wanted.map((name) => AT_ONCE.find((group) => group.includes(name)) ?? [name]));
for (const group of groups) {
  const names = group.filter((name) => wanted.includes(name));
  if (end === undefined) {
    console.log(`── ${names.join(", ")}`);
    const beganAt = performance.now();
    const all = Promise.all(
      names.map(async (name) => {
        const found = await measured(name);
        if (end !== undefined) return;
        figures.push(...found);
        done.add(name);
      }),
    );
    const ending = await Promise.race([all, ended]);
    if (typeof ending === "string") end = ending;
    console.log(`  took ${((performance.now() - beganAt) / 1000).toFixed(0)} s`);
  }
  figures.push(...names.filter((name) => !done.has(name)).map(notMeasured));
}
await endAllOf(folder);
rmSync(folder, { recursive: true, force: true });
if (end === "interrupted") process.exit(130);
if (end === "late") console.log(`\nEnded after ${MINUTES_MAX} minutes.`);

const memoryGb = Number(/MemTotal:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "latin1"))?.[1] ?? 0) / 1024 ** 2;
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
const machine = `${cpus().length} cores, ${memoryGb.toFixed(0)} GB, Node ${process.version}`;
const title = `${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${machine}`;
console.log(`\n${title}\n\n${table(figures)}`);
if (isWritten) writeFileSync(PAGE, withRun(readFileSync(PAGE, "utf8"), { title, table: table(figures) }));
process.exit(figures.every(({ isReached }) => isReached !== false) ? 0 : 1);

/** A bench that fails is missed, and the others are measured. */
async function measured(name: Name): Promise<readonly Figure[]> {
  try {
    return await BENCHES[name]();
  } catch (error) {
    if (end === undefined) console.error(error);
    return [notMeasured(name)];
  }
}
