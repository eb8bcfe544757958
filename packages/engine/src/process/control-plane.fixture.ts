// A control plane that tests kill: opens an engine, starts a release, and reports on standard output.
import { readFileSync } from "node:fs";
import type { ReleaseSpec } from "@berth/core/deploy";
import { processEngine } from "./engine.ts";
import { FAST_SETTINGS, fileBuilder, io } from "./process.fixture.ts";

const [dataFolder = "", runtimeFolder = "", specFile = ""] = process.argv.slice(2);
const engine = processEngine({ dataFolder, runtimeFolder, builder: fileBuilder({}), settings: FAST_SETTINGS });
await engine.open();
console.log("opened");
// Written by the test.
const spec = JSON.parse(readFileSync(specFile, "utf8")) as ReleaseSpec;
await engine.start(spec, io());
console.log("started");
setInterval(() => {}, 1_000_000);
