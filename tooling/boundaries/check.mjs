// Checks the imports of every source file against the allowed ones. Also fails when no file was read: a run over no
// module (a parser that does not understand the sources) would otherwise pass.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cruise } from "dependency-cruiser";

const here = dirname(fileURLToPath(import.meta.url));
process.chdir(join(here, "../.."));
const { forbidden, options } = createRequire(import.meta.url)("./.dependency-cruiser.cjs");

const ruleSet = { forbidden };
const { output, exitCode } = await cruise(["packages", "apps"], {
  ...options,
  ruleSet,
  validate: true,
  outputType: "err",
});
const { output: core } = await cruise(["packages/core/src"], { ...options, outputType: "json" });
const cruised = JSON.parse(core).modules.filter(({ source }) => source.startsWith("packages/core/src/")).length;
if (cruised < 10) {
  console.error(`Boundaries were not checked: only ${cruised} modules of packages/core could be read.`);
  process.exit(1);
}
console.log(String(output).trim());
process.exit(exitCode);
