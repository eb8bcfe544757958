import { expect, test } from "vitest";
import { temporaryFolder } from "../src/temporary-folder.fixture.ts";
import { berth, berthOfCheckout } from "./cli.fixture.ts";

/** Prints at the end how many bytes of script were loaded from files. */
const COUNT = `
  import { registerHooks } from "node:module";
  let bytes = 0;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (url.startsWith("file:")) bytes += Buffer.byteLength(loaded.source ?? "");
      return loaded;
    },
  });
  process.on("exit", () => process.stderr.write("bytes " + bytes + "\\n"));
`;

/**
 * Time depends on the machine, so this counts what takes it. 150 ms are what a slow machine needs for five times as
 * much; schemas alone have 580 kB.
 */
test.each(["--version", "--help", "apps --help"])("berth %s loads little", async (words) => {
  using home = temporaryFolder();
  const hook = `--import=data:text/javascript,${encodeURIComponent(COUNT)}`;
  const env = { PATH: process.env.PATH ?? "", HOME: home.path, NODE_OPTIONS: hook };
  const { code, stderr } = await berth(words.split(" "), { cwd: home.path, env });
  expect(code).toBe(0);
  const bytes = Number(/^bytes (\d+)$/m.exec(stderr)?.[1]);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(200_000);
});

// Node exits with 9 when it takes the option for its own, before the command runs.
test.each(["-", "missing.env"])("bin/berth passes --env-file %s to the command", async (file) => {
  using home = temporaryFolder();
  const env = { PATH: process.env.PATH ?? "", HOME: home.path };
  const { code, stderr } = await berthOfCheckout(["deploy", "--env-file", file], { cwd: home.path, env, input: "A=1" });
  expect(stderr).not.toBe("");
  expect([1, 2]).toContain(code);
});
