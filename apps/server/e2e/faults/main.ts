// `npm run faults [NAME ...]`: breaks what Berth stands on and prints what happened. `npm run faults -- --soak MINUTES`.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { endAllOf } from "../../../../bench/leftovers.ts";
import type { Ground } from "./checks.ts";
import { ground } from "./ground.ts";
import { MEASURED_HEAP } from "./heap.ts";
import { NotSupported } from "./machine.ts";
import { endRow, inRow } from "./row-end.ts";
import { SCENARIOS, type Sizes } from "./scenarios.ts";
import { soak } from "./soak.ts";

const FULL: Sizes = {
  restarts: 8,
  frozenSeconds: 30,
  halfOpen: 600,
  kills: 3,
  engine: { deployments: 108, cutMs: 500 },
  cuts: 100,
  cluster: { deployments: 50, losses: 10 },
};

const { positionals: names, values } = parseArgs({ allowPositionals: true, options: { soak: { type: "string" } } });
const soakMinutes = values.soak === undefined ? undefined : Number(values.soak);
if (soakMinutes !== undefined && !(soakMinutes > 0)) {
  console.error("Say how many minutes: --soak 60.");
  process.exit(2);
}
const unknown = names.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(", ")}. Known: ${Object.keys(SCENARIOS).join(", ")}, --soak MINUTES.`);
  process.exit(2);
}

// All that the program makes lies in this folder, which is how its processes are found again.
const folder = mkdtempSync(join(tmpdir(), "faults-"));
chmodSync(folder, 0o711); // Databases and applications run as other users.
process.env.TMPDIR = folder;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void leave(signal));

const rows: string[] = [];
let broken = 0;
const chosen =
  soakMinutes !== undefined && names.length === 0
    ? []
    : Object.entries(SCENARIOS).filter(([name]) => names.length === 0 || names.includes(name));
const making = ground(soakMinutes === undefined ? {} : { env: MEASURED_HEAP });
try {
  const made = await making;
  for (const [name, scenario] of chosen) {
    console.log(`── ${name}`);
    await addRow(made, scenario.name(FULL), () => scenario.run(made, FULL));
  }
  if (soakMinutes !== undefined)
    await addRow(made, `${soakMinutes} minutes of reads, writes and deployments`, () => soak(made, soakMinutes));
} finally {
  await end();
}
console.log(["", "| What was done | What happened |", "|---|---|", ...rows].join("\n"));
process.exit(broken === 0 ? 0 : 1);

async function addRow(made: Ground, name: string, body: () => Promise<string>): Promise<void> {
  const row = await inRow(body).then(
    (happened) => `held: ${happened}`,
    (error: unknown) => {
      if (error instanceof NotSupported) return `not supported here: ${error.message}`;
      broken += 1;
      return `**broken**: ${error instanceof Error ? error.message : String(error)}`;
    },
  );
  console.log(`  ${row}`);
  rows.push(`| ${name} | ${row.replaceAll("\n", " ")} |`);
  // The next row is about another fault.
  if (made.server.hasEnded()) await made.server.start();
}

async function end(): Promise<void> {
  await making.then((made) => made.dispose()).catch((error: unknown) => console.error(error));
  await endAllOf(folder);
  rmSync(folder, { recursive: true, force: true });
}

/** Leaves nothing of the row that was interrupted: no mount, no group, no container, and no process. */
async function leave(signal: string): Promise<void> {
  console.log(`Interrupted by ${signal}: cleans up.`);
  await endRow();
  await end();
  process.exit(130);
}
