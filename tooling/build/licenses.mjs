// The licences of the packages whose code a build contains.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "./fresh.mjs";

const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const LICENSE_FILE = /^(licen[cs]e|copying|notice)/i;

/** @param {readonly string[]} inputs Paths of the bundled files. */
export function licensesOf(inputs) {
  const folders = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
  const texts = [...folders].map((folder) => join(ROOT, folder)).map(licenseOf);
  return [...new Set(texts)].sort().join(`\n${"-".repeat(80)}\n`);
}

function licenseOf(folder) {
  const { name, version, license } = manifestOf(folder);
  const files = readdirSync(folder).filter((file) => LICENSE_FILE.test(file));
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
  return [`${name} ${version}, ${license ?? "see below"}`, ...texts].join("\n\n");
}

/** Manifest of the nearest folder with a name: packages may contain nameless manifests. */
function manifestOf(folder) {
  const file = join(folder, "package.json");
  const manifest = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  return manifest.name === undefined ? manifestOf(dirname(folder)) : manifest;
}
