import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ENVIRONMENT } from "./config.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const NAME = /\bBERTH_[A-Z]+(?:_[A-Z]+)*\b/g;

/** Names between Berth and what it starts itself, which nobody sets. Names for applications are on pages of theirs. */
const INTERNAL: ReadonlySet<string> = new Set([
  ...["BERTH_NAME", "BERTH_NAMES", "BERTH_VALUE", "BERTH_GATE", "BERTH_FILE_PATH", "BERTH_FILE_TEXT", "BERTH_STACK"],
  ...["BERTH_GIT_ORIGIN", "BERTH_GIT_FOLDER", "BERTH_SSH_CONFIG", "BERTH_LOGIN_USER", "BERTH_LOGIN_PASSWORD"],
  // Marks the processes of a build.
  "BERTH_BUILD",
  // The path of the program, in a constant.
  "BERTH_PROGRAM",
]);

async function textsIn(folder: string, isWanted: (path: string) => boolean): Promise<readonly string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const wanted = paths.filter((path) => !/\/(node_modules|dist|decisions)\//.test(path) && isWanted(path));
  return await Promise.all(wanted.map((path) => readFile(path, "utf8")));
}
const isSource = (path: string) =>
  /\/src\/.*\.m?ts$/.test(path) && !/\.(test|fixture)\.ts$/.test(path) && !path.includes("/packages/testing/");
const namesIn = (texts: readonly string[]) => new Set(texts.flatMap((text) => text.match(NAME) ?? []));

it("each setting of the server stands in docs/configuration.md, and each other name in some page", async () => {
  const page = namesIn([await readFile(join(ROOT, "docs/configuration.md"), "utf8")]);
  const ofServer = [...Object.keys(ENVIRONMENT.shape), "BERTH_URL", "BERTH_TOKEN"];
  expect(ofServer.filter((name) => !page.has(name))).toEqual([]);
  const pages = namesIn(await textsIn("docs", (path) => path.endsWith(".md")));
  const used = namesIn([...(await textsIn("apps", isSource)), ...(await textsIn("packages", isSource))]);
  expect(used.size).toBeGreaterThan(ofServer.length);
  expect([...used].filter((name) => !pages.has(name) && !INTERNAL.has(name))).toEqual([]);
});

it("pages name no setting that nothing reads, sets or passes on", async () => {
  const known = namesIn([
    ...(await textsIn("apps", isSource)),
    ...(await textsIn("packages", (path) => /\.m?ts$/.test(path))),
    ...(await textsIn("tooling", (path) => /\.(m?ts|mjs|sh)$/.test(path))),
  ]);
  const pages = [
    ...(await textsIn("docs", (path) => path.endsWith(".md"))),
    await readFile(join(ROOT, "README.md"), "utf8"),
  ];
  expect([...namesIn(pages)].filter((name) => !known.has(name))).toEqual([]);
});
