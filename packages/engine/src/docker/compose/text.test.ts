import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { parseCompose } from "@berth/core/compose";
import type { BuildConfig, BuildRequest } from "@berth/core/deploy";
import { describe, expect, test } from "vitest";
import { prepareStack } from "./source.ts";
import { withFolder } from "./stack.fixture.ts";
import { composeText, fileVariables } from "./text.ts";

const WEB = "services: { web: { image: nginx } }";

/** A source with these files, inside a folder that contains another one. */
async function withSource<T>(files: Files, work: (source: string) => Promise<T>): Promise<T> {
  return await withFolder(async (folder) => {
    const source = join(folder, "source");
    const all = { "compose.yaml": WEB, "../beside.yaml": WEB, "../beside.env": "A=1", ...files };
    for (const [path, text] of Object.entries(all)) {
      await mkdir(dirname(join(source, path)), { recursive: true });
      await writeFile(join(source, path), text);
    }
    return await work(source);
  });
}

type Files = Readonly<Record<string, string>>;

/** Only the fields that are read here. */
const request = (sourceFolder: string, config: Partial<BuildConfig>): BuildRequest => ({
  resourceUuid: "r",
  deploymentUuid: "d",
  resourceNumber: 1,
  sourceFolder,
  config: { build_pack: "dockercompose", base_directory: "/", ...config } as BuildConfig,
  env: { OWN: "own" },
  isForced: false,
});

describe("the files that the compose commands name", () => {
  test.each([
    ["../beside.yaml", "is outside of the source"],
    ["sub/../../beside.yaml", "is outside of the source"],
    ["/etc/passwd", "is outside of the source"],
    ["link", "is outside of the source"],
    ["folder/beside.yaml", "is outside of the source"],
    ["chain", "is outside of the source"],
    ["sub", "is not a text file"],
    ["pipe", "is not a text file"],
    ["circle", "is not in the source"],
    ["large", "is not a text file"],
  ])("are files of the source, whatever links there are in it: %s", async (path, problem) => {
    await withSource({ "sub/x": "", large: `# ${"x".repeat(1_100_000)}` }, async (source) => {
      await symlink("../beside.yaml", join(source, "link"));
      await symlink("..", join(source, "folder"));
      await symlink("sub/../link", join(source, "chain"));
      await symlink("circle", join(source, "circle"));
      await promisify(execFile)("mkfifo", [join(source, "pipe")]);
      await expect(composeText(request(source, { composeFiles: ["compose.yaml", path] }))).rejects.toThrow(problem);
      await expect(fileVariables(request(source, { composeEnvFiles: [path] }))).rejects.toThrow(problem);
    });
  });

  test("may be links to others of the source", async () => {
    await withSource({ "sub/more.yaml": "services: { web: { user: a } }", "sub/a.env": "A=1" }, async (source) => {
      await symlink("sub/more.yaml", join(source, "link"));
      await symlink("sub", join(source, "folder"));
      const { text } = await composeText(request(source, { composeFiles: ["compose.yaml", "link"] }));
      expect(JSON.parse(text)).toEqual({ services: { web: { image: "nginx", user: "a" } } });
      expect(await fileVariables(request(source, { composeEnvFiles: ["folder/a.env"] }))).toEqual({ A: "1" });
    });
  });

  test("come to no more than memory holds, however their values name each other", async () => {
    const doubled = Array.from({ length: 60 }, (_, at) => `A${at + 1}=$A${at}$A${at}`).join("\n");
    const files = {
      doubled: `A0=${"x".repeat(1000)}\n${doubled}`,
      often: `A0=${"x".repeat(100_000)}\nB=${"$A0".repeat(9000)}`,
    };
    await withSource(files, async (source) => {
      for (const path of Object.keys(files)) {
        const read = fileVariables(request(source, { composeEnvFiles: [path] }));
        await expect(read).rejects.toThrow(/exceeds? \d+ characters/);
      }
    });
  });

  test("give values that are text alone: none becomes a part of the file, or another variable", async () => {
    const env = `OWN=theirs\nTEXT='x", "privileged": true, "y": "'\nLINES="a\n  privileged: true"\nREF='$OWN'\n__proto__=x\n`;
    const text = `services: { web: { image: nginx, command: ["$TEXT", "$LINES", "$REF"] } }`;
    await withSource({ "compose.yaml": text, env }, async (source) => {
      const variables = await fileVariables(request(source, { composeEnvFiles: ["env"] }));
      expect(variables).toMatchObject({ OWN: "theirs", REF: "$OWN", LINES: "a\n  privileged: true" });
      const compose = parseCompose((await composeText(request(source, { composeFiles: ["compose.yaml"] }))).text);
      if ("problems" in compose) throw new Error(compose.problems.join());
      const { document } = await prepareStack(compose, { root: source, folder: source }, variables);
      expect(document).toMatchObject({ services: { web: { command: ["$TEXT", "$LINES", "$REF"] } } });
    });
  });
});

test("files of variables are not read again and again for many services", async () => {
  const services = Array.from({ length: 100 }, (_, at) => `s${at}: { image: a, env_file: [large, large] }`).join(", ");
  await withSource({ large: `# ${"x".repeat(100_000)}` }, async (source) => {
    const compose = parseCompose(`services: { ${services} }`);
    if ("problems" in compose) throw new Error(compose.problems.join());
    const read = prepareStack(compose, { root: source, folder: source }, {});
    await expect(read).rejects.toThrow("Its env files exceed");
  });
});
