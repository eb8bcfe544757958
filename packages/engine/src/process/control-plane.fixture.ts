// A control plane to be killed: opens an engine, starts what it is given, and tells on standard output what it did.
import { readFileSync } from "node:fs";
import type { ReleaseSpec } from "@berth/core/deploy";
import { processEngine } from "./engine.ts";
import { FAST_SETTINGS, fileBuilder, io } from "./process.fixture.ts";

const [dataFolder = "", runtimeFolder = "", specFile = ""] = process.argv.slice(2);
const engine = processEngine({ dataFolder, runtimeFolder, builder: fileBuilder({}), settings: FAST_SETTINGS });
await engine.open();
console.log("opened");
// A file of the test's own.
const spec = JSON.parse(readFileSync(specFile, "utf8")) as ReleaseSpec;
await engine.start(spec, io());
console.log("started");
setInterval(() => {}, 1_000_000);
