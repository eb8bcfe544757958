import { describe, expect, test } from "vitest";
import { runScript, withExec } from "./run-script.ts";

describe("a start command takes the shell's place", () => {
  test.each([
    ["node server.js", "exec node server.js"],
    ["PORT=1 node server.js", "exec env PORT=1 node server.js"],
    ["A='x y' B=\"z\" ./run $PORT", "exec env A='x y' B=\"z\" ./run $PORT"],
    ["$HOME/run", "exec $HOME/run"],
    ["node x > log", "exec node x > log"],
  ])("%s", (command, script) => {
    expect(withExec(command)).toBe(script);
  });

  test.each([
    "a && b",
    "a; b",
    "a | b",
    "a &",
    "cd x",
    "exec node x",
    "if true",
    "A=1",
    "$(which node) x",
    "(a)",
    "a\nb",
    "# x",
    "! a",
    "'my app' x",
  ])("%j stays as it is", (command) => {
    expect(withExec(command)).toBe(command);
  });

  test.each([
    ["pnpm start", "export pnpm_config_pm_on_fail=ignore\nexec pnpm start"],
    ["yarn start", "export SKIP_YARN_COREPACK_CHECK=1\nexec yarn start"],
  ])("%s does not mind which version is here", (command, script) => {
    expect(runScript(command, { binFolders: [], isNode: false })).toBe(script);
  });

  test("without a path or a mode of its own when it is no Node project", () => {
    expect(runScript(" ./run ", { binFolders: [], isNode: false })).toBe("exec ./run");
  });
});
