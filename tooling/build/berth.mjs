// Runs the command line from its newest build, in this process.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { freshBuild } from "./fresh.mjs";

const main = join(freshBuild("cli"), "main.js");
process.argv[1] = main;
await import(pathToFileURL(main).href);
