// `node tooling/build/main.mjs server cli`: builds the named programs, or all of them.
import { buildProgram } from "./build.mjs";
import { PROGRAMS } from "./programs.mjs";

const names = process.argv.slice(2);
const unknown = names.find((name) => !(name in PROGRAMS));
if (unknown !== undefined) {
  console.error(`Unknown program ${unknown}. Name one of: ${Object.keys(PROGRAMS).join(", ")}`);
  process.exit(2);
}
for (const name of names.length > 0 ? names : Object.keys(PROGRAMS)) await buildProgram(PROGRAMS[name]);
