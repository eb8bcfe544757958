// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a script of the shell.
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasEngine, type ImageSuite, imageSuite } from "./image.fixture.ts";
import { BUILD_TOOLS, isForTool } from "./tool.ts";

const PLACE = { source: "/src", out: "/job/out", config: CONFIG, variables: [] };
const COMMANDS = { ...CONFIG, install_command: "npm ci", build_command: "--evil; x", start_command: "" };

describe("what a build tool is called with", () => {
  test.each([
    ["nixpacks", PLACE, ["nixpacks", "build", "/src", "--out=/job/out"]],
    [
      "nixpacks",
      { ...PLACE, config: COMMANDS, variables: ["A", "B"] },
      [
        "nixpacks",
        "build",
        "/src",
        "--out=/job/out",
        "--install-cmd=npm ci",
        "--build-cmd=--evil; x",
        "--start-cmd=",
        "--env=A",
        "--env=B",
      ],
    ],
    ["railpack", PLACE, ["railpack", "prepare", "/src", "--plan-out=/job/out.json"]],
    [
      "railpack",
      { ...PLACE, config: COMMANDS, variables: ["A"] },
      [
        "railpack",
        "prepare",
        "/src",
        "--plan-out=/job/out.json",
        "--build-cmd=--evil; x",
        "--start-cmd=",
        "--env=A",
        "--env=RAILPACK_INSTALL_CMD",
      ],
    ],
  ] as const)("%s %#", (name, place, expected) => {
    expect(BUILD_TOOLS[name].argv(place)).toEqual(expected);
  });

  test.each([
    ["NIXPACKS_NODE_VERSION", true],
    ["API_KEY", true],
    ["LD_PRELOAD", false],
    ["PATH", false],
    ["HOME", false],
    ["BASH_ENV", false],
    ["GIT_SSH_COMMAND", false],
    ["HTTPS_PROXY", false],
    ["https_proxy", false],
    ["SSL_CERT_FILE", false],
    ["NODE_EXTRA_CA_CERTS", false],
    ["a b", false],
    ["-x", false],
  ])("the variable %s is for it: %s", (name, expected) => {
    expect(isForTool(name)).toBe(expected);
  });
});

describe.skipIf(!hasEngine)("a build tool that is installed", () => {
  let suite: ImageSuite;
  beforeAll(() => {
    suite = imageSuite();
    const folder = join(suite.folder, "bin");
    mkdirSync(folder);
    const script = [
      "#!/bin/sh",
      'case "$API_KEY" in fails) echo "Error: no plan" >&2; exit 3;; esac',
      'for option; do case "$option" in --out=*) out="${option#--out=}";; esac; done',
      'mkdir -p "$out/.nixpacks" && cp -R "$2/." "$out/"',
      'printf \'FROM alpine:3\\nARG API_KEY\\nCOPY . /app\\nCMD ["cat","/app/x"]\\n\' > "$out/.nixpacks/Dockerfile"',
    ].join("\n");
    writeFileSync(join(folder, "nixpacks"), script);
    chmodSync(join(folder, "nixpacks"), 0o755);
    Object.assign(suite, { builder: suite.withPath(`${folder}:/usr/local/bin:/usr/bin:/bin`) });
  });
  afterAll(() => suite.close());

  test("prepares what is built", async () => {
    const { image } = await suite.build({ x: "by the tool" }, { build_pack: "nixpacks" }, { env: { API_KEY: "k" } });
    expect(await suite.output(image)).toBe("by the tool");
    expect(suite.lines).toContain("Prepares the build with nixpacks");
  });

  test("says why it could not, in one sentence", async () => {
    const building = suite.build({ x: "" }, { build_pack: "nixpacks" }, { env: { API_KEY: "fails" } });
    await expect(building).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: "nixpacks exited with code 3: Error: no plan.",
    });
  });

  test("is named where it is missing and nothing is recognised", async () => {
    const building = suite.build({ "x.zig": "" }, { build_pack: "railpack" });
    await expect(building).rejects.toThrow(/It is not clear how to start this.*install railpack on Berth's machine/);
  });

  test("is fetched for what Berth does not recognise alone, and what it lacks is said in one sentence", async () => {
    const bin = join(suite.folder, "bin");
    let why: DomainError | undefined;
    const fetching = imageSuite({
      path: "/usr/bin:/bin",
      fetcher: async (tool, _io, path) => {
        if (why !== undefined) throw why;
        return { tool, folder: bin, path: `${bin}:${path}` };
      },
    });
    try {
      const { image } = await fetching.build({ x: "fetched" }, { build_pack: "nixpacks" });
      expect(await fetching.output(image)).toBe("fetched");
      why = new DomainError("deploy.build_failed", "nixpacks cannot be fetched: no network.");
      await expect(fetching.build({ x: "" }, { build_pack: "nixpacks" })).rejects.toThrow(
        /^It is not clear how to start this: .* nixpacks cannot be fetched: no network\.$/,
      );
      await fetching.build({ "index.html": "" }, { build_pack: "nixpacks" });
      expect(fetching.lines).toContain("Berth builds it itself, without nixpacks");
    } finally {
      await fetching.close();
    }
  });
});
