import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { type TemporaryFolder, temporaryFolder } from "../src/temporary-folder.fixture.ts";
import { berth, type Ran, start, startOnTerminal } from "./cli.fixture.ts";
import { slowBuild, webServer } from "./sources.fixture.ts";

/** Prints `tick 1`, `tick 2`, ... without end. */
const TICKS = 'let n = 0; setInterval(() => console.log("tick " + ++n), 20);';

let server: TestServer;
let home: TemporaryFolder;
/** Folder of an application that is deployed as `web`. */
let web: TemporaryFolder;
beforeAll(async () => {
  server = await testServer();
  home = temporaryFolder();
  web = temporaryFolder(webServer("web", TICKS));
  expect(await run(web.path, "deploy")).toMatchObject({ code: 0 });
});
afterAll(async () => {
  for (const folder of [home, web]) folder[Symbol.dispose]();
  await server.dispose();
});

const env = () => ({ PATH: process.env.PATH ?? "", HOME: home.path, BERTH_DATA: server.dataFolder });
const run = (cwd: string, ...argv: readonly string[]): Promise<Ran> => berth(argv, { cwd, env: env() });
/** Whether a process of this machine has this command line. */
const isRunning = (command: string): boolean =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() === command;
      } catch {
        return false;
      }
    });
const ticks = (text: string) => [...text.matchAll(/tick (\d+)/g)].map(([, n]) => Number(n));

test("a resource of any kind moves to another environment, by its name", async () => {
  const made = JSON.parse((await run("/", "projects", "create", "Archive", "--json")).stdout);
  const application = JSON.parse((await run(web.path, "app", "--json")).stdout);
  const [own] = JSON.parse((await run("/", "projects", "--json")).stdout);
  const where = async () => JSON.parse((await run(web.path, "app", "--json")).stdout).project_uuid;
  expect(await run("/", "move", "web")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--environment NAME"),
  });
  const moved = await run("/", "move", "WEB", "--project", "archive");
  expect([moved.code, moved.stdout]).toEqual([
    0,
    expect.stringContaining("web is in environment production now. What runs continues."),
  ]);
  expect(await where()).toBe(made.uuid);
  const again = await run("/", "move", application.uuid, "--project", "archive");
  expect([again.code, again.stderr]).toEqual([1, "Application web is in environment production already.\n"]);
  expect((await run("/", "move", "web", "--project", own.name, "--environment", "production")).code).toBe(0);
  expect(await where()).toBe(own.uuid);
  // With one project only, the other tests need not name it.
  expect((await run("/", "api", "DELETE", `/projects/${made.uuid}`)).code).toBe(0);
});

test("the server of this machine is found without BERTH_DATA, and named", async () => {
  // The test's server has its user's state below its data folder.
  const found = { PATH: process.env.PATH ?? "", HOME: home.path, XDG_STATE_HOME: server.dataFolder };
  const { code, stdout, stderr } = await berth(["whoami"], { cwd: home.path, env: found });
  expect([code, stderr]).toEqual([0, `Server of ${server.dataFolder}, ${server.url}\n`]);
  expect(stdout).toContain(server.url);
});

describe("scheduled tasks", () => {
  test("are created, run in the application with their output shown as it comes, and looked at", async () => {
    const tasks = (...argv: readonly string[]) => run(web.path, "scheduled-tasks", ...argv);
    const command = 'echo first; sleep 1; echo "it\'s $PORT" | tr 0-9 n';
    expect((await tasks("create", "nightly", "@daily", command, "--timeout", "30")).stdout).toMatch(/^Created nightly/);
    expect((await tasks()).stdout).toMatch(/^nightly +@daily +yes +echo first/m);
    const done = await tasks("run", "nightly");
    expect([done.code, done.stdout]).toEqual([0, expect.stringMatching(/^first\nit's n+\nDone in \d+\.\d s\.\n$/)]);
    expect((await tasks("create", "broken", "daily", "echo no; exit 3")).code).toBe(0);
    const broken = await tasks("run", "broken");
    expect([broken.code, broken.stdout, broken.stderr]).toEqual([
      1,
      "no\n",
      "Warning: Failed. It exited with code 3.\n",
    ]);
    expect((await tasks("executions", "broken")).stdout).toMatch(/^failed +.*by hand +It exited with code 3\./m);
    expect((await tasks("logs", "nightly")).stdout).toMatch(/^first\nit's n+\n/);
    await tasks("create", "long", "daily", "echo begun; sleep 600", "--timeout", "6");
    expect((await tasks("run", "long", "--detach")).stdout).toMatch(/^long runs as /);
    expect((await tasks("run", "long")).stderr).toContain("is running already");
    const followed = await tasks("logs", "-f", "long");
    expect([followed.stdout, followed.stderr]).toEqual(["begun\n", expect.stringContaining("longer than 6 s")]);
  });
});

describe("notifications", () => {
  const notification = (...argv: readonly string[]) => run(home.path, "notification", ...argv);

  test("are turned on, looked at, tested and listed by channel", async () => {
    expect((await notification()).stdout).toMatch(/^webhook +no +deployment failure, .*server unreachable/m);
    const lacking = await notification("set", "discord", "--enabled");
    expect([lacking.code, lacking.stdout, lacking.stderr]).toEqual([
      0,
      expect.stringMatching(/^discord is on\. It reports: deployment failure, /),
      expect.stringContaining("Nothing is sent yet. `discord_webhook_url`"),
    ]);
    expect((await notification("test", "webhook")).stderr).toMatch(/--url: Nothing can be sent .*\n.* set webhook$/m);
    const flags = ["--deployment-success", "--no-backup-failure", "--url", "http://127.0.0.1:8999/x"];
    expect((await notification("set", "webhook", ...flags)).stdout).toMatch(/^webhook is off\. .*deployment success/);
    const shown = (await notification("show", "webhook")).stdout;
    expect(shown).toMatch(/^url +http:\/\/127\.0\.0\.1:8999\/x$/m);
    expect(shown).toMatch(/^backup-failure +no$/m);
    const tested = await notification("test", "webhook");
    expect([tested.code, tested.stderr]).toEqual([1, expect.stringContaining("private address")]);
    expect((await notification("deliveries", "--state", "failed")).stdout).toBe("Nothing was sent yet.\n");
    expect(JSON.parse((await notification("show", "slack", "--json")).stdout)).toHaveProperty("slack_enabled", false);
  });

  test("refuse a channel that is none, and a wrong value", async () => {
    expect((await notification("set", "fax")).code).toBe(2);
    expect((await notification("test", "fax")).stderr).toContain("Allowed choices are email, discord");
    const wrong = await notification("set", "slack", "--webhook-url", "http://slack.example/x");
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("--webhook-url: Must begin with https://")]);
  });
});

describe("doctor", () => {
  test("says that all works, and what a domain without an address needs", async () => {
    const well = await run("/", "doctor");
    expect([well.code, well.stderr]).toEqual([0, ""]);
    expect(well.stdout).toMatch(/^ok {7}database: works$/m);
    expect(well.stdout).toMatch(/^ok {7}server localhost: answers \(process\)$/m);
    expect(well.stdout).toMatch(/\nEverything that was checked works \(\d+ checks\)\.\n$/);
    const [application] = JSON.parse((await run("/", "apps", "--json")).stdout);
    const domains = (urls: string) => run("/", "applications", "update", application.uuid, "--domains", urls);
    expect(await domains("http://berth-doctor.invalid")).toMatchObject({ code: 0 });
    const ill = await run("/", "doctor");
    expect(await domains(application.fqdn)).toMatchObject({ code: 0 });
    expect(ill.code).toBe(1);
    expect(ill.stdout).toMatch(/^problem {2}domain berth-doctor\.invalid: It has no address\.\n {9}Add a DNS record/m);
    expect(ill.stdout).toMatch(/\n1 problem, 0 warnings of \d+ checks\.\n$/);
  });

  test("says where nothing answers", async () => {
    const away = await berth(["doctor"], {
      cwd: "/",
      env: { ...env(), BERTH_URL: "http://127.0.0.1:9", BERTH_TOKEN: "1|x" },
    });
    expect(away.code).toBe(1);
    expect(away.stdout).toContain("problem  Berth: Nothing answers at http://127.0.0.1:9.");
  });
});

describe("looking at applications", () => {
  test("lists and shows them, as tables or as the API has them", async () => {
    const { stdout } = await run("/", "apps");
    expect(stdout).toMatch(/^NAME +STATUS +URL +ENVIRONMENT +UUID$/m);
    expect(stdout).toMatch(new RegExp(`^web +running \\(healthy\\) +http://web\\.localhost:${server.proxyPort} `, "m"));
    expect((await run(web.path, "app")).stdout).toMatch(/^Source +upload$/m);
    const listed = JSON.parse((await run("/", "apps", "--json")).stdout);
    expect(listed).toEqual((await server.rest("GET", "/applications")).body);
    expect((await run(web.path, "open", "--print")).stdout).toBe(`http://web.localhost:${server.proxyPort}\n`);
  });

  test("finds them by name or uuid, and says what was meant otherwise", async () => {
    const [{ uuid }] = JSON.parse((await run("/", "apps", "--json")).stdout);
    expect((await run("/", "app", uuid)).stdout).toContain("web");
    expect((await run("/", "app", "WEB")).stdout).toContain(uuid);
    const unknown = await run("/", "app", "wbe");
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/^No application is called wbe\. Did you mean web\?/),
    ]);
    const none = await run("/", "app");
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("Which application?")]);
  });

  test("shows their last lines, and follows them until it is interrupted", async () => {
    await until(async () => ticks((await run(web.path, "logs")).stdout).length > 10);
    expect(ticks((await run(web.path, "logs", "--lines", "5")).stdout)).toHaveLength(5);
    expect(ticks((await run("/", "logs", "--app", "web", "--lines", "5")).stdout)).toHaveLength(5);
    expect((await run("/", "status", "--app", "web")).stdout).toContain("web");
    const twice = await run(web.path, "logs", "other", "--app", "web");
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("Two applications are named")]);
    const running = start(["--json", "logs", "-f", "-n", "2"], { cwd: web.path, env: env() });
    await until(() => ticks(running.stdout()).length >= 10);
    running.interrupt();
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    const seen = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).line);
    const first = ticks(seen[0])[0] ?? 0;
    expect(seen).toEqual(seen.map((_, i) => `tick ${first + i}`));
  });

  test("continues following without a gap or a repeat when the server is killed and comes back", async () => {
    const running = start(["logs", "-f", "-n", "1"], { cwd: web.path, env: env() });
    await until(() => ticks(running.stdout()).length >= 5);
    await server.kill();
    const before = ticks(running.stdout()).length;
    await server.start();
    await until(() => ticks(running.stdout()).length > before + 20, { seconds: 60 });
    running.interrupt();
    const { stdout, stderr } = await running.ended;
    const seen = ticks(stdout);
    const first = seen[0] ?? 0;
    expect(seen).toEqual(seen.map((_, i) => first + i));
    expect(stderr).toMatch(/^Warning: Connection lost.*, trying again$/m);
  });
});

describe("words that people type", () => {
  test.each(["apps list", "app list", "apps"])("%s lists applications", async (words) => {
    expect((await run("/", ...words.split(" "))).stdout).toMatch(/^web +/m);
  });

  test.each(["app web", "app show web", "status web"])("%s shows one", async (words) => {
    expect((await run("/", ...words.split(" "))).stdout).toMatch(/^Name +web$/m);
  });

  test("whoami says where, in which team and by which token", async () => {
    const { code, stdout } = await run("/", "whoami");
    expect([code, stdout]).toEqual([0, expect.stringContaining(server.url)]);
    expect(stdout).toMatch(/^Abilities +root$/m);
    expect(JSON.parse((await run("/", "whoami", "--json")).stdout)).toMatchObject({ team: { id: 0 } });
  });
});

describe("commands in an application", () => {
  test("run in its environment, print as they go and pass their exit code on", async () => {
    const script = "console.log(process.argv[1], typeof process.env.PORT); process.exit(7)";
    const ran = await run(web.path, "run", "--", "node", "-e", script, "two words; it's");
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([7, "two words; it's string\n", ""]);
    const named = await run("/", "exec", "web", "echo $((40 + 2)); echo more");
    expect([named.code, named.stdout]).toEqual([0, "42\nmore\n"]);
    expect((await run("/", "scheduled-tasks", "--app", "web")).stdout).not.toContain("run ");
    const nameless = await run("/", "run", "--", "true");
    expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringContaining("Which application?")]);
  });

  test("are refused what is piped in, which they would not get", async () => {
    const options = { cwd: "/", env: env(), input: "hello\n" };
    for (const word of ["run", "exec"]) {
      const { code, stdout, stderr } = await berth([word, "web", "--", "cat"], options);
      expect([code, stdout, stderr]).toEqual([
        2,
        "",
        expect.stringMatching(/^Standard input is not passed on .*\n.*sh -c/),
      ]);
    }
  });

  test("continue after they were asked for, and are ended by the deletion of their task", async () => {
    const detached = await run("/", "run", "--detach", "web", "--", "sleep 600.5");
    expect([detached.code, detached.stdout]).toEqual([
      0,
      expect.stringMatching(/^Runs as the scheduled task run sleep/),
    ]);
    const [, task = "", uuid = ""] = /logs -f (\w+) --app (\w+)/.exec(detached.stdout) ?? [];
    await until(() => isRunning("sleep 600.5"));
    const gone = await run("/", "applications", "scheduled-tasks", "delete", uuid, task, "--yes");
    expect([gone.code, gone.stdout]).toEqual([0, "Scheduled task deleted.\n"]);
    await until(() => !isRunning("sleep 600.5"));
  });
});

describe("one-click services", () => {
  test("are listed within 80 columns", async () => {
    const { code, stdout } = await run("/", "templates");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^wordpress +/m)]);
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect((await run("/", "service", "templates", "--search", "no such thing")).stdout).toMatch(
      /^No one-click service/,
    );
  });

  test("are named as they were asked for, and a second one apart from it", async () => {
    const create = () => run("/", "service", "create", "adminer", "--no-start", "--server", "localhost");
    expect((await create()).stdout).toMatch(/^Created service adminer /);
    expect((await create()).stdout).toMatch(/^Created service adminer-2 /);
    expect((await run("/", "services")).stdout).toMatch(/^adminer +/m);
  });
});

describe("opening an application", () => {
  test("starts the browser with its URL", async () => {
    const seen = join(home.path, "opened");
    home.write({ "bin/xdg-open": `#!/bin/sh\nprintf %s "$1" > '${seen}'\n` });
    chmodSync(join(home.path, "bin/xdg-open"), 0o755);
    const path = `${join(home.path, "bin")}:${process.env.PATH}`;
    const { code, stderr } = await berth(["open", "web"], { cwd: "/", env: { ...env(), PATH: path } });
    expect([code, stderr]).toEqual([0, ""]);
    await until(() => existsSync(seen) && readFileSync(seen, "utf8") !== "");
    expect(readFileSync(seen, "utf8")).toBe(`http://web.localhost:${server.proxyPort}`);
  });
});

describe("environment variables", () => {
  test("of a service are set, listed and removed like those of an application", async () => {
    web.write({ "stack/compose.yml": 'services: { shop: { image: busybox, environment: ["KEY=$API_KEY"] } }\n' });
    const made = await run(web.path, "service", "up", "stack/compose.yml", "--no-start", "--server", "localhost");
    expect([made.code, made.stdout]).toEqual([0, expect.stringMatching(/^Created service stack /)]);
    const env = (...argv: readonly string[]) => run("/", "env", ...argv, "--service", "stack");
    expect((await env("set", "API_KEY=open-sesame", "MORE=1")).stdout).toBe(
      "stack: set API_KEY, MORE.\nIt takes effect with the next deployment: berth service restart stack\n",
    );
    expect((await env("list", "--show")).stdout).toMatch(/^API_KEY +open-sesame /m);
    expect((await env("rm", "MORE")).stdout).toBe("stack: removed MORE.\n");
    const both = await env("list", "web");
    expect([both.code, both.stderr]).toEqual([
      2,
      "Name one: an application, --service, --database, --team, --project or --server.\n",
    ]);
    const missing = await run("/", "env", "list", "--database", "nope");
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("nope")]);
  });

  test("that are shared belong to the team, a project, an environment or a server", async () => {
    const [project = ""] = JSON.parse((await run("/", "projects", "--json")).stdout).map(
      ({ name }: { name: string }) => name,
    );
    const owners = [
      ["{{ team.KEY }}", "--team"],
      ["{{ project.KEY }}", "--project", project],
      ["{{ environment.KEY }}", "--project", project, "--environment", "production"],
      ["{{ server.KEY }}", "--server", "localhost"],
    ] as const;
    for (const [reference, ...owner] of owners) {
      const set = await run("/", "env", "set", "KEY=open-sesame", "MORE=1", ...owner);
      expect(set.stdout).toMatch(
        /: set KEY, MORE\.\nIt takes effect in each resource that refers to it with that resource's next deployment\.\n$/,
      );
      const hidden = (await run("/", "env", "list", ...owner)).stdout;
      expect(hidden).toContain(reference);
      expect(hidden).not.toContain("open-sesame");
      expect((await run("/", "env", "list", "--show", ...owner)).stdout).toMatch(/^KEY +open-sesame /m);
      expect((await run("/", "env", "rm", "KEY", "MORE", ...owner)).stdout).toContain("removed MORE.");
      expect((await run("/", "env", "list", ...owner)).stdout).toMatch(/ has no shared variables\.$/m);
    }
    const refused = await run("/", "env", "set", "KEY=1", "--team", "--is-literal");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("KEY (is_literal)")]);
    const alone = await run("/", "env", "list", "--environment", "production");
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining("--project NAME --environment NAME")]);
    const two = await run("/", "env", "list", "--team", "--server", "localhost");
    expect([two.code, two.stderr]).toEqual([2, expect.stringContaining("Name one")]);
    const preview = await run("/", "env", "list", "--team", "--preview");
    expect([preview.code, preview.stderr]).toEqual([2, expect.stringContaining("Leave out --preview")]);
  });

  test("are set from a file with its comments, hidden unless asked for, and reach the application", async () => {
    web.write({ ".env": "GREETING=hello # said to everyone\nSECOND='two words'\n" });
    const set = await run(web.path, "env", "set", "--file", ".env");
    expect([set.code, set.stdout]).toEqual([0, expect.stringContaining("set GREETING, SECOND")]);
    const hidden = (await run(web.path, "env")).stdout;
    expect(hidden).toMatch(/^GREETING +hidden +build, run +said to everyone$/m);
    expect(hidden).not.toContain("two words");
    expect((await run(web.path, "env", "--show")).stdout).toMatch(/^SECOND +two words /m);
    expect((await run(web.path, "restart")).code).toBe(0);
    const response = await server.rest("GET", "/version");
    expect(response.status).toBe(200);
    const removed = await run(web.path, "env", "rm", "SECOND");
    expect(removed.stdout).toContain("removed SECOND");
    expect((await run("/", "env", "list", "web")).stdout).not.toContain("SECOND");
  });

  test("take a value from standard input byte for byte, so that no shell keeps it", async () => {
    const value = ` p"a's$s\\ \tsecond-line\nlines`;
    await berth(["env", "set", "SECRET"], { cwd: web.path, env: env(), input: `${value}\n` });
    const [found] = JSON.parse((await run(web.path, "env", "--show", "--json")).stdout).filter(
      ({ key }: { key: string }) => key === "SECRET",
    );
    expect((await run(web.path, "env", "--json")).stdout).not.toContain("second-line");
    expect(found).toMatchObject({ value, is_multiline: true });
  });

  test("are read and removed one by one, by the words that people type", async () => {
    expect((await run(web.path, "config", "set", "ONE=two words", "TWO=2")).code).toBe(0);
    const one = await run(web.path, "env", "get", "ONE");
    expect([one.code, one.stdout]).toEqual([0, "two words\n"]);
    expect((await run(web.path, "env", "unset", "ONE", "TWO")).stdout).toContain("removed TWO.");
    const gone = await run(web.path, "env", "get", "ONE");
    expect([gone.code, gone.stderr]).toEqual([2, expect.stringContaining("web has no variable ONE.")]);
  });

  test("need a value: an empty standard input is none", async () => {
    for (const words of [["EMPTY"], ["web", "EMPTY"]]) {
      const without = await berth(["env", "set", ...words], { cwd: web.path, env: env(), input: "" });
      expect([without.code, without.stderr]).toEqual([
        2,
        "EMPTY has no value: standard input is empty.\n  Write EMPTY=VALUE, or EMPTY= for an empty value.\n",
      ]);
    }
    expect((await run("/", "env", "list", "web")).stdout).not.toContain("EMPTY");
  });

  test("that are wrong are named, and none of them is set", async () => {
    const { code, stderr } = await run("/", "env", "set", "web", "FINE=1", "9TH=2");
    expect([code, stderr]).toEqual([2, expect.stringContaining("9TH cannot be the name of a variable")]);
    expect((await run("/", "env", "list", "web")).stdout).not.toContain("FINE");
    web.write({ "bad.env": "FINE=1\nnot fine\n" });
    const unread = await run(web.path, "env", "set", "--file", "bad.env");
    expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining("Line 2 of bad.env")]);
    expect((await run("/", "env", "list", "web")).stdout).not.toContain("FINE");
    expect((await run(web.path, "env", "rm", "NOPE")).stderr).toContain("web has no variable NOPE");
    expect((await run(web.path, "env", "set")).code).toBe(2);
  });
});

describe("connections", () => {
  const outside = () => ({ PATH: process.env.PATH ?? "", HOME: home.path, BERTH_DATA: join(home.path, "nothing") });

  test("are made by berth login after the token was tried, and kept for their owner only", async () => {
    const options = { cwd: home.path, env: outside() };
    expect((await berth(["apps"], options)).stderr).toContain("berth login URL");
    const wrong = await berth(["login", server.url, "--token-stdin"], { ...options, input: "1|wrong\n" });
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("does not know this token")]);
    const login = await berth(["login", server.url, "--token-stdin", "--name", "lab"], {
      ...options,
      input: `${server.token}\n`,
    });
    expect([login.code, login.stdout]).toEqual([0, expect.stringContaining("The connection is called lab")]);
    const path = join(home.path, ".config/berth/config.json");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, "utf8")).current).toBe("lab");
    expect((await berth(["apps"], options)).stdout).toContain("web");
    expect((await berth(["context"], options)).stdout).not.toContain(server.token);
    await berth(["context", "rm", "lab"], options);
    expect((await berth(["apps"], options)).code).toBe(1);
  });

  test("ask for the token without showing it", async () => {
    const running = startOnTerminal(["login", server.url], { cwd: home.path, env: outside() });
    await until(() => running.stdout().includes("Token: "));
    running.send(`${server.token}\r`);
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining("Logged in")]);
    expect(stdout).not.toContain(server.token);
    await berth(["context", "rm", "127.0.0.1"], { cwd: home.path, env: outside() });
  });

  test("that do not answer are named with the reason", async () => {
    const away = { ...outside(), BERTH_URL: "http://127.0.0.1:9", BERTH_TOKEN: "x" };
    const { code, stderr, stdout } = await berth(["--json", "apps"], { cwd: home.path, env: away });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^http:\/\/127\.0\.0\.1:9 cannot be reached: /);
  });

  test("with a token that may less are refused with what it lacks", async () => {
    const token = (await run("/", "tokens", "create", "reader", "--abilities", "read")).stdout.trim();
    expect(token).toMatch(/^\d+\|\w{48}$/);
    const reader = { ...outside(), BERTH_URL: server.url, BERTH_TOKEN: token };
    const stop = await berth(["stop", "web"], { cwd: home.path, env: reader });
    expect([stop.code, stop.stderr]).toEqual([1, expect.stringContaining("--abilities read,write,deploy")]);
    expect((await berth(["env", "list", "web", "--show"], { cwd: home.path, env: reader })).stdout).not.toContain(
      "hello",
    );
    const id = token.split("|")[0] ?? "";
    expect((await run("/", "tokens", "revoke", id)).code).toBe(0);
    expect((await berth(["apps"], { cwd: home.path, env: reader })).stderr).toContain("does not know this token");
  });
});

describe("a terminal", () => {
  test("shows the steps as they go, and the URL at the end", async () => {
    using folder = temporaryFolder(slowBuild(20));
    const running = startOnTerminal(["deploy"], { cwd: folder.path, env: env() });
    await until(() => /⠋|⠙|⠹|⠸/.test(running.stdout()) && running.stdout().includes("    built "));
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    const shown = stdout.slice(stdout.lastIndexOf("Switch the traffic"));
    expect(stdout).toMatch(/✓.* Build +.*\d s/);
    expect(shown).toContain("Deployed in");
    expect(shown).toContain(`http://slow.localhost:${server.proxyPort}`);
    // The cursor is visible again.
    expect(stdout.lastIndexOf("\u001b[?25h")).toBeGreaterThan(stdout.lastIndexOf("\u001b[?25l"));

    folder.write(slowBuild(3, 1));
    const failing = await startOnTerminal(["deploy"], { cwd: folder.path, env: env() }).ended;
    expect(failing.code).toBe(1);
    expect(failing.stdout).toContain("Error: no such module");
    expect(failing.stdout).toContain('The deployment failed at "Build"');
  });

  test("gives Ctrl-C to the following, not to the deployment", async () => {
    using folder = temporaryFolder(slowBuild(40));
    const running = startOnTerminal(["deploy", "--name", "goes-on"], { cwd: folder.path, env: env() });
    await until(() => running.stdout().includes("    built "));
    running.interrupt();
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([130, expect.stringContaining("The deployment continues.")]);
    const statusText = async () => (await run("/", "deployments", "goes-on")).stdout;
    await until(async () => (await statusText()).includes("finished"));
  });

  test("asks for the name before an application is deleted", async () => {
    using folder = temporaryFolder(webServer("short-lived"));
    expect((await run(folder.path, "deploy", "--name", "short-lived")).code).toBe(0);
    const answered = async (text: string) => {
      const running = startOnTerminal(["delete", "short-lived"], { cwd: folder.path, env: env() });
      await until(() => running.stdout().includes("confirm: "));
      running.send(text);
      return await running.ended;
    };
    expect((await answered("something else\r")).code).toBe(1);
    expect((await answered("\u0003")).code).toBe(130);
    expect((await run(folder.path, "delete", "short-lived")).code).toBe(2);
    expect((await answered("short-lived\r")).code).toBe(0);
    expect((await run("/", "apps")).stdout).not.toContain("short-lived");
    expect(JSON.parse(readFileSync(join(folder.path, ".berth/app.json"), "utf8"))).toEqual({ applications: [] });
  });
});

describe("the rest", () => {
  test("stops and starts an application", async () => {
    const stopped = await run(web.path, "stop");
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringMatching(/\nweb is stopped\.\n$/)]);
    expect((await run(web.path, "app")).stdout).toContain("exited");
    const logs = await run(web.path, "logs", "--tail", "3");
    expect([logs.code, logs.stderr]).toEqual([0, "Warning: Nothing runs. This is what the last run printed.\n"]);
    expect(ticks(logs.stdout).length).toBeGreaterThan(0);
    expect((await run(web.path, "logs", "--previous")).stderr).toBe("");
    const since = await run(web.path, "logs", "--previous", "--since", "1h", "--tail", "3");
    expect([since.code, since.stderr, since.stdout]).toEqual([0, "", logs.stdout]);
    expect((await run(web.path, "start")).code).toBe(0);
    expect((await run(web.path, "app")).stdout).toContain("running");
    const running = await run(web.path, "logs", "--previous", "--tail", "3");
    expect([running.code, running.stderr]).toEqual([0, expect.stringMatching(/^Warning: It is running: /)]);
  });

  test("shows what a process printed since a moment, with the moments, and follows with them", async () => {
    const printed = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (?:.*)tick (\d+)$/;
    const begin = Date.now();
    await until(() => Date.now() > begin + 1500);
    const shown = await run(web.path, "logs", "--since", new Date(begin).toISOString(), "--timestamps");
    expect([shown.code, shown.stderr]).toEqual([0, ""]);
    const lines = shown.stdout.trimEnd().split("\n");
    const moments = lines.map((line) => Date.parse(printed.exec(line)?.[1] ?? ""));
    // A line each 20 ms; looks are half a second apart.
    expect(moments.length).toBeGreaterThan(50);
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(begin);
    expect(Math.max(...moments)).toBeLessThanOrEqual(Date.now());
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
    const whole = await run(web.path, "logs", "--tail", "20000");
    expect(ticks(whole.stdout)[0]).toBeLessThan(ticks(shown.stdout)[0] ?? 0);
    const future = await run(web.path, "logs", "--since", "2999-01-02T03:04:05Z");
    expect([future.code, future.stdout, future.stderr]).toEqual([0, "", "Warning: No lines to show.\n"]);
    const following = start(["logs", "-f", "-t", "--tail", "1"], { cwd: web.path, env: env() });
    await until(() => following.stdout().split("\n").length > 5);
    following.interrupt();
    const { stdout } = await following.ended;
    expect(stdout.split("\n").filter((line) => line !== "" && !printed.test(line))).toEqual([]);
  });

  test("destroys and stops without waiting where that is asked for", async () => {
    using folder = temporaryFolder(
      webServer("short", 'process.on("SIGTERM", () => setTimeout(() => process.exit(0), 3000));'),
    );
    expect((await run(folder.path, "deploy", "--name", "short")).code).toBe(0);
    const shown = async () => (await run("/", "apps")).stdout.split("\n").find((line) => line.startsWith("short "));
    const stopped = await run(folder.path, "stop", "--no-wait");
    expect([stopped.code, stopped.stderr]).toEqual([0, ""]);
    expect(stopped.stdout).not.toContain("is stopped");
    expect(await shown()).not.toContain("exited");
    await until(async () => (await shown())?.includes("exited"), { seconds: 30 });

    expect((await run(folder.path, "start")).code).toBe(0);
    await until(async () => (await shown())?.includes("running"), { seconds: 30 });
    expect(await run(folder.path, "destroy", "short")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes"),
    });
    const destroyed = await run(folder.path, "destroy", "short", "--yes", "--no-wait");
    expect([destroyed.code, destroyed.stderr]).toEqual([0, ""]);
    expect(destroyed.stdout).not.toContain("Done.");
    const jobs = JSON.parse((await run("/", "jobs", "list", "--json")).stdout);
    expect(jobs).toContainEqual(
      expect.objectContaining({ status: expect.stringMatching(/^(queued|in_progress)$/), finished_at: null }),
    );
    await until(async () => (await shown()) === undefined, { seconds: 30 });
    expect(JSON.parse(readFileSync(join(folder.path, ".berth/app.json"), "utf8"))).toEqual({ applications: [] });
  });

  test("sends any request, with the body it is given", async () => {
    expect((await run("/", "api", "GET", "/version")).stdout).toBe((await server.rest("GET", "/version")).body);
    const made = await run("/", "api", "POST", "/projects", "-f", "name=From the shell");
    const { uuid } = JSON.parse(made.stdout);
    const changed = await berth(["api", "PATCH", `/api/v1/projects/${uuid}`, "--input", "-"], {
      ...{ cwd: "/", env: env() },
      input: '{"description":"Changed"}',
    });
    expect(JSON.parse(changed.stdout)).toMatchObject({ description: "Changed" });
    const refused = await run("/", "api", "POST", "/projects", "-F", "name=1");
    expect([refused.code, JSON.parse(refused.stdout).code]).toEqual([1, "request.invalid"]);
    expect((await run("/", "projects")).stdout).toMatch(/^From the shell +\w{24} +Changed$/m);
    expect((await run("/", "api", "DELETE", `/projects/${uuid}`)).code).toBe(0);
  });

  test.each([[["nonsense"]], [["apps", "--nope"]], [["logs", "--lines", "many"]], [["api", "GET"]], [["cancel"]]])(
    "%j is a mistake in the command line: exit code 2",
    async (argv) => {
      const { code, stdout, stderr } = await run("/", ...argv);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^error: /);
    },
  );

  test("help and versions need no server", async () => {
    const nowhere = {
      PATH: process.env.PATH ?? "",
      HOME: join(home.path, "nobody"),
      BERTH_DATA: join(home.path, "nothing"),
    };
    const help = await berth(["--help"], { cwd: "/", env: nowhere });
    expect([help.code, help.stdout]).toEqual([0, expect.stringContaining("deploy a folder")]);
    expect((await berth(["deploy", "--help"], { cwd: "/", env: nowhere })).stdout).toContain("--[no-]is-spa");
    expect((await berth(["version"], { cwd: "/", env: nowhere })).stdout).toMatch(/^berth \d.*\nno server\n$/);
  });
});
