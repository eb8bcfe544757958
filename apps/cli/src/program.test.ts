import { VERSION } from "@berth/core";
import { describe, expect, test } from "vitest";
import { HABITS } from "./habits.ts";
import { run } from "./program.ts";
import { screen } from "./screen.fixture.ts";
import type { System } from "./system.ts";

async function told(...argv: readonly string[]) {
  const [out, err] = [screen(), screen()];
  const system = {
    ...{ stdin: process.stdin, stdout: out.stream, stderr: err.stream, env: {}, cwd: "/", homeFolder: "/nowhere" },
    ...{ isRoot: false, onInterrupt: () => () => undefined },
  } as unknown as System;
  return { exitCode: await run(argv, system), text: out.text() + err.text() };
}

describe("a group of commands", () => {
  test.each([
    ["db", "databases", ["url", "logs", "create", "envs"]],
    ["backup", "backups", ["schedule", "run", "restore", "drill", "cancel"]],
    ["service", "services", ["up", "diff", "create", "templates"]],
    ["task", "scheduled-tasks", ["run", "executions", "update", "delete"]],
    ["user", "user", ["list", "invite", "remove"]],
    ["members", "user", ["list"]],
    ["server", "servers", ["list", "validate", "clean-up"]],
    ["config", "env", ["list", "get", "set", "rm"]],
    ["status", "app", ["show", "list"]],
    ["apps", "apps", ["list"]],
  ])("%s is %s, made by hand and from the description", async (word, name, verbs) => {
    const { exitCode, text } = await told(word, "--help");
    expect(exitCode).toBe(0);
    expect(text).toContain(`berth ${name}`);
    for (const verb of verbs) expect(text).toMatch(new RegExp(`^ {2}${verb}\\b`, "m"));
  });

  test("says what each command does, also where it has commands below it", async () => {
    const { text } = await told("db", "--help");
    expect(text).toMatch(/^ {2}logs .* Show what a database printed\.$/m);
    expect(text).toMatch(/^ {2}delete\|rm .* Delete a database\.$/m);
    expect((await told("service", "--help")).text).toMatch(/^ {2}create .* Create a one-click service/m);
  });

  test("has the fields of its schema as flags", async () => {
    const { text } = await told("db", "create", "postgresql", "--help");
    for (const flag of ["--postgres-db", "--public-port", "--image", "--project"]) expect(text).toContain(flag);
    // These are given by other flags or by the argument.
    for (const flag of ["--project-uuid", "--name ", "--instant-deploy"]) expect(text).not.toContain(flag);
  });

  test.each([
    ["--help", "deploy"],
    ["help", "deploy"],
    ["-h", "db", "create", "postgresql"],
    ["help", "db", "create", "postgresql"],
    ["--no-color", "help", "servers", "validate"],
    ["--context", "here", "--help", "service", "up"],
  ])("is explained wherever help is asked for: %s %s %s %s", async (...argv) => {
    const words = argv.filter((word) => !["--help", "-h", "help"].includes(word));
    const usual = await told(...words, "--help");
    expect(usual.text).toMatch(/^Usage: berth \w/);
    expect(await told(...argv)).toEqual(usual);
  });

  test("of the program is its own when no command is named", async () => {
    for (const word of ["help", "--help"]) expect((await told(word)).text).toContain("Deploying:");
  });

  test("says what is missing, and how to see what there is", async () => {
    const { exitCode, text } = await told("db", "url");
    expect(exitCode).toBe(2);
    expect(text).toContain("'database'");
    expect(text).toContain("--help for usage");
  });

  test.each([["apps"], ["app"], ["servers"], ["env"], ["projects"], ["databases", "backups"]])(
    "lists by the short name that other tools have: %s",
    async (...group) => {
      const { exitCode, text } = await told(...group, "ls", "--help");
      expect([exitCode, text]).toEqual([0, expect.stringMatching(/^Usage: berth .* list\|ls/)]);
    },
  );

  test.each([
    [["ls"], "apps"],
    [["ps"], "apps"],
    [["log"], "logs"],
    [["shell"], "exec"],
    [["secrets"], "env"],
    [["variables"], "env"],
    [["releases"], "deployments"],
    [["cron"], "scheduled-tasks"],
    [["rm"], "delete"],
    [["services", "show"], "services get"],
    [["db", "create", "postgres"], "databases create postgresql"],
    [["db", "create", "mongo"], "databases create mongodb"],
    [["app", "get"], "app show"],
    [["templates", "ls"], "templates list"],
    [["service", "templates", "list"], "services templates list"],
    [["tokens", "rm"], "tokens revoke"],
    [["tokens", "delete"], "tokens revoke"],
  ])("%j is understood as %s", async (argv, name) => {
    const { exitCode, text } = await told(...argv, "--help");
    expect([exitCode, text]).toEqual([0, expect.stringMatching(new RegExp(`^Usage: berth ${name}`))]);
  });

  test.each(Object.entries(HABITS))("of another tool is answered with what Berth has: %s", async (word, hint) => {
    const { exitCode, text } = await told(word, "shop");
    expect([exitCode, text]).toEqual([2, `error: unknown command '${word}'\n${hint}\nRun with --help for usage\n`]);
  });

  test("has one meaning for each short name", async () => {
    const { text } = await told("env", "--help");
    expect(text.match(/\brm\b/g)).toHaveLength(1);
    expect((await told("servers", "rm", "--help")).exitCode).toBe(0);
  });

  test.each([
    [["db", "frob"], "error: db has no command 'frob'"],
    [["env", "frob", "KEY"], "error: env has no command 'frob'"],
    [["--context", "prod", "env", "frob", "KEY"], "error: env has no command 'frob'"],
    [["env", "list", "app", "KEY"], "error: too many arguments for 'list'"],
    [["frob"], "error: unknown command 'frob'"],
    [["db", "create", "shopdb"], "berth databases create is followed by one of: postgresql, mysql, "],
    [["deploy", "--port", "3000"], "The port that it listens on: --ports-exposes 3000"],
    [["deploy", "--domain=a.test"], "Its URL: --domains https://shop.example"],
    [
      ["cron", "create", "a", "b", "c", "d"],
      "Usage: berth scheduled-tasks create [options] <name> <frequency> <command>",
    ],
    [["rollback", "a", "b", "c", "d"], "Usage: berth rollback [options]"],
    [["services", "shop"], "To show shop: berth services get shop"],
    [["server", "shop"], "To show shop: berth servers get shop"],
    [
      ["service", "env", "set", "A=1"],
      "Variables: berth env list --service NAME, berth env set KEY=VALUE --service NAME",
    ],
    [["db", "vars"], "Variables: berth env list --database NAME, berth env set KEY=VALUE --database NAME"],
    [["restore", "shop"], "berth backup restore NAME"],
    [["set", "A=1"], "berth env set KEY=VALUE"],
    [["update", "shop"], "berth applications update APP"],
    [["user", "frob"], "error: user has no command 'frob'"],
    [["apps", "shop"], "To show shop: berth app shop"],
    [["apps", "get", "shop"], "To show shop: berth app shop"],
    [["apps", "logs", "shop"], "To do this with an application: berth logs shop"],
    [["apps", "db", "shop"], "To show shop: berth app shop"],
    [["apps", "rm", "shop"], "To do this with an application: berth delete shop"],
    [["app", "delete", "shop"], "To do this with an application: berth delete shop"],
    [["app", "create", "shop"], "Create an application from a folder or a repository with: berth deploy"],
    [["apps", "create", "shop"], "Create an application from a folder or a repository with: berth deploy"],
    [["apps", "delete"], "To do this with an application: berth delete"],
    [["app", "show", "shop", "more"], "error: too many arguments for 'show'"],
    [["server", "new", "10.0.0.1"], "To make one: berth servers create --help"],
    [["server", "new"], "To make one: berth servers create --help"],
    [["scale", "web=2"], "berth scale APP 2"],
    [["scale", "shop", "web=2..10"], "berth scale APP 2..10"],
    [["scale", "shop", "9..2"], "Example: berth scale shop 2..9"],
    [["down"], "berth stop APP"],
    [["app", "rename", "shop", "store"], "To change its name: berth applications update shop --name NEW"],
    [["db", "rename", "shop", "store"], "To change its name: berth databases update shop --name NEW"],
    [["services", "edit", "shop"], "To change its settings: berth services update shop, with flags that --help lists"],
    [["db", "shell", "shop"], "To open its client: berth db psql shop (or mysql, "],
    [["db", "shell", "shop", "--", "-c", "select 1"], "To open its client: berth db psql shop (or mysql, "],
    [["db", "mariadb", "shop"], "To open its client: berth db mysql shop\n"],
    [["db", "mongo", "shop"], "To open its client: berth db mongosh shop\n"],
    [["db", "keydb", "shop"], "To open its client: berth db redis-cli shop\n"],
    [
      ["db", "password", "shop"],
      "To show its password: berth db url shop. To change it: berth db update shop --postgres-password-file FILE",
    ],
    [["db", "mysql", "shop", "-e", "SELECT 1"], "berth databases mysql shop --command 'SELECT 1'\n"],
    [["db", "redis-cli", "cache", "get", "k"], "berth databases redis-cli cache --command 'get k'\n"],
    [["db", "psql", "shop", "select 'a'"], "berth databases psql shop --command 'select '\\''a'\\''"],
    [["db", "psql", "shop", "--frob"], "error: unknown option '--frob'"],
    [["env", "add", "X=1"], "berth env set X=1, or those of a file: berth env set --file FILE\n"],
    [["env", "import", ".env"], "berth env set KEY=VALUE, or those of a file: berth env set --file .env\n"],
    [["service", "ps", "shop"], "To show shop: berth services show shop\n"],
    [["service", "status", "shop"], "To show shop: berth services show shop\n"],
    [["service", "deployments", "shop"], "To list its deployments: berth deployments shop\n"],
    [["service", "deploy", "compose.yml"], "To run a compose file: berth services up compose.yml\n"],
    [["service", "deploy", "shop"], "To run a compose file: berth services up FILE\n"],
    [["templates", "wordpress"], "error: templates has no command 'wordpress'"],
    [["rename", "shop", "store"], "To change its name: berth applications update APP --name NEW"],
    [["run", "node", "-v"], "What follows -- belongs to the command: berth run APP -- COMMAND --ITS-OPTIONS"],
    [["redeploy", "shop"], "berth deploy FOLDER --app APP"],
  ])("%j: says which word is unknown", async (argv, message) => {
    const { exitCode, text } = await told(...argv);
    expect(exitCode).toBe(2);
    expect(text).toContain(message);
  });
});

describe("--version", () => {
  test.each([[["--version"]], [["-V"]], [["--version", "db", "create"]], [["--context", "prod", "-V"]]])(
    "before a command is the version of berth: %j",
    async (argv) => {
      expect(await told(...argv)).toEqual({ exitCode: 0, text: `${VERSION}\n` });
    },
  );

  test.each([
    [["db", "create", "mysql", "my", "--version", "5"], "The version is a part of the image: --image NAME:VERSION"],
    [["run", "shop", "node", "--version"], "The version of berth itself: berth --version"],
    [["apps", "-V"], "The version of berth itself: berth --version"],
  ])("after a command is an error: %j", async (argv, hint) => {
    const { exitCode, text } = await told(...argv);
    expect([exitCode, text]).toEqual([2, expect.stringMatching(/^error: unknown option '(-V|--version)'/)]);
    expect(text).toContain(`\n${hint}\n`);
  });
});
