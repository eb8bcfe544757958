// `npm run bench [read|lists|start|deploy|wide ...]`: measures the figures in docs/performance.md. Both sides of a
// ratio are measured in one run.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { benchDatabaseStart } from "./database-start.ts";
import { benchDeploy } from "./deploy.ts";
import { benchDockerDeploy } from "./docker-deploy.ts";
import { benchDockerSwitch } from "./docker-switch.ts";
import { benchFleet } from "./fleet.ts";
import { benchLists } from "./lists.ts";
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
  "database-start": benchDatabaseStart,
  switch: benchSwitch,
  "docker-switch": benchDockerSwitch,
  "proxy-change": benchProxyChange,
  fleet: benchFleet,
  wide: benchWide,
} as const;
type Name = keyof typeof BENCHES;

const isName = (name: string): name is Name => name in BENCHES;
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !isName(name));
if (unknown.length > 0) {
  console.error(`Unknown bench ${unknown.join(", ")}. Choose of: ${Object.keys(BENCHES).join(", ")}.`);
  process.exit(2);
}

const figures: Figure[] = [];
for (const name of Object.keys(BENCHES).filter(isName)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`── ${name}`);
  figures.push(...(await BENCHES[name]()));
}
const memoryGb = Number(/MemTotal:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "latin1"))?.[1] ?? 0) / 1024 ** 2;
console.log(
  `\n${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores, ${memoryGb.toFixed(0)} GB, Node ${process.version}\n`,
);
console.log(table(figures));
process.exit(figures.every(({ isReached }) => isReached !== false) ? 0 : 1);
