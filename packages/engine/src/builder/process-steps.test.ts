import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type { BuildConfig, BuildRequest } from "@berth/core/deploy";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { isRoot, pidsWithEnv } from "@berth/host";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type BuildBench, buildBench, type GivenBuild, runtimeFolder, USER } from "./build.fixture.ts";
import { processBuilder } from "./process-builder.ts";

let runtime: { folder: string; path: string };
beforeAll(async () => {
  runtime = await runtimeFolder();
});
afterAll(() => rmSync(runtime.folder, { recursive: true, force: true }));

let bench: BuildBench;
beforeEach(() => {
  bench = buildBench(runtime.path);
});
afterEach(() => bench.close());

const OTHER_UID = 61_235;

describe("a step", () => {
  test("sees its build variables and nothing of ours", async () => {
    process.env.BERTH_TEST_SECRET = "ours";
    try {
      const value = "a'b\"c\n$HOME `id`";
      const { folder } = await bench.build({
        files: { "index.html": "" },
        config: { build_command: "env -0 > seen; id -u >> uid" },
        env: { VALUE: value, PATH: "/own/bin", HOME: "/etc" },
      });
      const seen = Object.fromEntries(
        readFileSync(join(folder, "seen"), "utf8")
          .split("\0")
          .map((pair) => pair.split(/=(.*)/s)),
      );
      expect(seen).toMatchObject({ VALUE: value, HOME: join(bench.base, "home"), NODE_ENV: "production" });
      expect(seen.PATH).toMatch(/node_modules\/\.bin:.*runtime.*:\/own\/bin$/);
      expect(Object.keys(seen)).not.toContain("BERTH_TEST_SECRET");
      expect(Object.keys(seen)).not.toContain("CI");
      expect(readFileSync(join(folder, "uid"), "utf8").trim()).toBe(String(USER?.uid ?? process.getuid?.()));
    } finally {
      delete process.env.BERTH_TEST_SECRET;
    }
  });

  test("installs as for development and builds for production, unless told otherwise", async () => {
    const say = (file: string) => `echo "$NODE_ENV" > ${file}`;
    const modes = async (env: Record<string, string>) => {
      const config = { install_command: say("install"), build_command: say("build") };
      const { folder } = await bench.build({ files: { "index.html": "" }, config, env });
      return ["install", "build"].map((file) => readFileSync(join(folder, file), "utf8").trim());
    };
    expect(await modes({})).toEqual(["", "production"]);
    expect(await modes({ NODE_ENV: "production" })).toEqual(["", "production"]);
    expect(await modes({ NODE_ENV: "staging" })).toEqual(["staging", "staging"]);
  });

  test("gives way to the control plane", async () => {
    const { folder } = await bench.build({ files: { "index.html": "" }, config: { build_command: "nice > niceness" } });
    expect(Number(readFileSync(join(folder, "niceness"), "utf8"))).toBeGreaterThanOrEqual(5);
  });

  test.runIf(isRoot())(
    "cannot read the control plane's files or another application's, or write the runtime",
    async () => {
      const secret = join(bench.base, "secret");
      writeFileSync(secret, "ours", { mode: 0o600 });
      const other = join(bench.base, "other");
      mkdirSync(other, { mode: 0o700 });
      writeFileSync(join(other, "file"), "theirs");
      chownSync(other, OTHER_UID, OTHER_UID);
      const tries = [
        `cat ${secret}`,
        `ls ${join(bench.base, "checkouts")}`,
        `cat ${other}/file`,
        `touch ${bench.path.split(":")[0]}/x`,
        "cat /proc/1/environ",
      ];
      const command = tries.map((line) => `{ ${line}; } && echo BROKEN`).join("; ");
      await bench.build({ files: { "index.html": "" }, config: { build_command: `${command}; true` } });
      expect(bench.lines).not.toContain("BROKEN");
      expect(bench.lines.filter((line) => /denied/i.test(line)).length).toBeGreaterThanOrEqual(4);
    },
  );

  test("that fails says which, with what code, and why where that is known", async () => {
    const files = { "index.html": "" };
    expect(await bench.refusal({ files, config: { build_command: "echo no; exit 3" } })).toBe(
      "deploy.build_failed The build command `echo no; exit 3` exited with code 3.",
    );
    expect(bench.lines.slice(-2)).toEqual(["$ echo no; exit 3", "no"]);
    expect(await bench.refusal({ files, config: { install_command: "nonesuch --x" } })).toContain(
      "The install command `nonesuch --x` exited with code 127. A program of this name is not installed",
    );
    expect(await bench.refusal({ files, config: { build_command: "kill -9 $$" } })).toContain(
      "code 137. It was killed",
    );
  });

  test("that never ends is ended", async () => {
    const given = {
      files: { "index.html": "" },
      config: { build_command: "sleep 1000" },
      options: { stepSecondsMax: 0.3 },
    };
    expect(await bench.refusal(given)).toMatch(/^deploy\.timeout The build command did not end within 0\.3 seconds/);
  });

  test("is gone with all it spawned when the build is cancelled", async () => {
    const controller = new AbortController();
    // Three processes: one in the group, one that left it for its own session, one that ignores SIGTERM.
    const command = "sleep 1001 & setsid sleep 1002 & (trap '' TERM; sleep 1003) & echo started; wait";
    const work = bench.build({
      files: { "index.html": "" },
      config: { build_command: command },
      signal: controller.signal,
    });
    const failed = work.then(
      () => undefined,
      (error: unknown) => error,
    );
    for (const deadline = Date.now() + 10_000; !bench.lines.includes("started") && Date.now() < deadline; )
      await delay(10);
    const marker = `BERTH_BUILD=${bench.deploymentUuid()}`;
    expect(pidsWithEnv(marker).length).toBeGreaterThanOrEqual(3);
    controller.abort();
    const error = await failed;
    expect(isDomainError(error, "deploy.cancelled")).toBe(true);
    expect(pidsWithEnv(marker)).toEqual([]);
  });

  test("never begins when the build is cancelled before", async () => {
    const given = { files: { "index.html": "" }, config: { build_command: "touch ran" }, signal: AbortSignal.abort() };
    expect(await bench.refusal(given)).toMatch(/^deploy\.cancelled /);
    expect(existsSync(join(bench.base, "releases", bench.deploymentUuid(), "ran"))).toBe(false);
  });
});

describe("folders that a user names", () => {
  const outside = { link: "/etc" };
  test.each<[string, GivenBuild["files"], Partial<BuildConfig>]>([
    ["base_directory with parents", {}, { base_directory: "/../.." }],
    ["base_directory inside and out again", { "a/b": "" }, { base_directory: "/a/../../x" }],
    ["base_directory that is a link", { out: outside }, { base_directory: "/out" }],
    ["base_directory behind a link", { out: outside }, { base_directory: "/out/ssl" }],
    ["publish_directory with parents", {}, { publish_directory: "/../../../etc" }],
    ["publish_directory that is a link", { out: outside }, { publish_directory: "/out" }],
  ])("never lead out: %s", async (_what, files, config) => {
    const text = await bench.refusal({ files: { "index.html": "", ...files }, config });
    expect(text).toMatch(
      /^deploy\.build_failed The (base|publish)_directory .* is outside of the source\. Name a folder inside it\.$/,
    );
  });

  test("never lead out by a link that the build makes", async () => {
    const named = { build_command: "ln -s /etc site", publish_directory: "/site" };
    expect(await bench.refusal({ files: { "index.html": "" }, config: named })).toContain("is outside of the source");
    const found = { build_command: "ln -s / dist && ln -s /etc/hostname index.html", is_static: true };
    expect(await bench.refusal({ files: { a: "" }, config: found })).toContain("No index.html to serve was found");
    const swapped = {
      build_command: "cd .. && mv app gone && ln -s /etc app",
      base_directory: "/app",
      publish_directory: "/ssl",
    };
    expect(await bench.refusal({ files: { "app/index.html": "" }, config: swapped })).toContain(
      "is outside of the source",
    );
  });

  test("that the build moves away tell no names of what was put in their place", async () => {
    const secret = join(bench.base, "closed");
    mkdirSync(join(secret, "secret-name"), { recursive: true, mode: 0o700 });
    const files = { "app/index.html": "" };
    const swap = { base_directory: "/app", build_command: `cd .. && rm -rf app && ln -s ${secret} app` };
    for (const config of [
      { ...swap, publish_directory: "/dist" },
      { ...swap, is_static: true },
    ]) {
      const text = await bench.refusal({ files, config });
      expect(text).toMatch(/^deploy\.build_failed /);
      expect(text).not.toContain("secret-name");
    }
  });

  test.runIf(isRoot())(
    "are entered as the application's user, whatever an earlier step put in their place",
    async () => {
      const secret = join(bench.base, "closed/open");
      mkdirSync(secret, { recursive: true });
      chmodSync(join(bench.base, "closed"), 0o700);
      writeFileSync(join(secret, "secret-name"), "");
      const config = {
        base_directory: "/app",
        install_command: `cd .. && rm -rf app && ln -s ${secret} app`,
        build_command: "ls",
      };
      const text = await bench.refusal({ files: { "app/index.html": "" }, config });
      expect(text).toMatch(/^deploy\.build_failed The build command cannot be run in .*app\. .*its user may not go/);
      expect(bench.lines).not.toContain("secret-name");
    },
  );

  test("may be links inside the source", async () => {
    const files = { "real/index.html": "", web: { link: "real" } };
    expect((await bench.build({ files, config: { base_directory: "/web" } })).run).toMatchObject({ root: "." });
    expect((await bench.build({ files, config: { publish_directory: "/web" } })).run).toMatchObject({ root: "real" });
  });

  test("that are missing are named, with what is there", async () => {
    expect(await bench.refusal({ files: { "index.html": "", "a.txt": "" }, config: { base_directory: "/app" } })).toBe(
      "deploy.build_failed The base_directory /app is not a folder of the source, which contains a.txt, index.html. Correct it.",
    );
  });

  test.runIf(isRoot())("change their owner, and what links lead to does not", async () => {
    const target = join(bench.base, "target");
    writeFileSync(target, "ours");
    const { folder } = await bench.build({ files: { "index.html": "", "l/link": { link: target }, "l/file": "" } });
    expect(lstatSync(target).uid).toBe(0);
    for (const name of ["", "index.html", "l", "l/link", "l/file"])
      expect(lstatSync(join(folder, name)).uid).toBe(USER?.uid);
  });
});

test("a source that is gone asks for a new deployment", async () => {
  const request: BuildRequest = {
    resourceUuid: "app",
    resourceNumber: 1,
    deploymentUuid: "d0",
    sourceFolder: join(bench.base, "none"),
    config: CONFIG,
    env: {},
    isForced: false,
  };
  const io = { signal: new AbortController().signal, onLine: () => {} };
  const error = await processBuilder()
    .build(request, io, bench.place())
    .catch((reason: unknown) => reason);
  expect(isDomainError(error, "deploy.interrupted")).toBe(true);
});
