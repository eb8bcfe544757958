// `npm run faults [NAME ...]`: breaks what Berth stands on and prints what happened. `npm run faults -- --soak MINUTES`.
import { parseArgs } from "node:util";
import { ground } from "./ground.ts";
import { NotSupported } from "./machine.ts";
import { SCENARIOS, type Sizes } from "./scenarios.ts";
import { soak } from "./soak.ts";

const FULL: Sizes = { restarts: 8, frozenSeconds: 30, halfOpen: 600, kills: 3, engineDeployments: 108 };

const { positionals: names, values } = parseArgs({ allowPositionals: true, options: { soak: { type: "string" } } });
const soakMinutes = values.soak === undefined ? undefined : Number(values.soak);
if (soakMinutes !== undefined && !(soakMinutes > 0)) {
  console.error("Say how many minutes: --soak 60.");
  process.exit(2);
}
const unknown = names.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(", ")}. Choose of: ${Object.keys(SCENARIOS).join(", ")}, --soak MINUTES.`);
  process.exit(2);
}

const rows: string[] = [];
let broken = 0;
const chosen =
  soakMinutes !== undefined && names.length === 0
    ? []
    : Object.entries(SCENARIOS).filter(([name]) => names.length === 0 || names.includes(name));
const made = await ground();
try {
  for (const [name, scenario] of chosen) {
    console.log(`── ${name}`);
    const row = await scenario.run(made, FULL).then(
      (happened) => `held: ${happened}`,
      (error: unknown) => {
        if (error instanceof NotSupported) return `not supported here: ${error.message}`;
        broken += 1;
        return `**broken**: ${error instanceof Error ? error.message : String(error)}`;
      },
    );
    rows.push(`| ${scenario.name(FULL)} | ${row.replaceAll("\n", " ")} |`);
    // The next row is about another fault.
    if (made.server.hasEnded()) await made.server.start();
  }
  if (soakMinutes !== undefined)
    rows.push(`| ${soakMinutes} minutes of reads, writes and deployments | ${await soak(made, soakMinutes)} |`);
} finally {
  await made.dispose();
}
console.log(["", "| What was done | What happened |", "|---|---|", ...rows].join("\n"));
process.exit(broken === 0 ? 0 : 1);
