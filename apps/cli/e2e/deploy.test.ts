import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { type TemporaryFolder, temporaryFolder } from "../src/temporary-folder.fixture.ts";
import { berth, type Ran, start } from "./cli.fixture.ts";
import { slowBuild, webServer } from "./sources.fixture.ts";

let server: TestServer;
let home: TemporaryFolder;
beforeAll(async () => {
  server = await testServer();
  home = temporaryFolder();
});
afterAll(async () => {
  home[Symbol.dispose]();
  await server.dispose();
});

/** Without address and token, which are read from the server's own file. */
const env = () => ({ PATH: process.env.PATH ?? "", HOME: home.path, BERTH_DATA: server.dataFolder });
const run = (cwd: string, ...argv: readonly string[]): Promise<Ran> => berth(argv, { cwd, env: env() });

function page(host: string, path = "/"): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port: server.proxyPort, path, headers: { host }, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
    }).on("error", reject);
  });
}

const linked = (folder: string): { uuid: string; name: string } =>
  JSON.parse(readFileSync(join(folder, ".berth/app.json"), "utf8")).applications[0];

/** A repository with one commit. */
function gitRepository(files: Parameters<typeof temporaryFolder>[0]): TemporaryFolder {
  const folder = temporaryFolder(files);
  const config = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
  for (const argv of [
    ["init", "--quiet"],
    ["add", "."],
    ["commit", "--quiet", "--message", "First"],
  ]) {
    const { status, stderr } = spawnSync("git", [...config, ...argv], { cwd: folder.path, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, expect.any(String)]);
  }
  return folder;
}

describe("berth deploy", () => {
  test("sets variables before the first start, and makes nothing for one that is wrong; again in the same place", async () => {
    const answer = 'process.env.ONE + " " + process.env.TWO';
    const source = `require("http").createServer((_q, a) => a.end(${answer})).listen(process.env.PORT)`;
    using folder = temporaryFolder({
      "package.json": JSON.stringify({ name: "with-env", scripts: { start: "node server.js" } }),
      "server.js": source,
      "two.env": "TWO='second value'\n",
    });
    const wrong = await run(folder.path, "deploy", "-e", "ONE");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('"ONE" is not a variable')]);
    expect((await run(folder.path, "apps")).stdout).not.toContain("with-env");
    const { code, stdout } = await run(folder.path, "deploy", "-e", "ONE=1=1", "--env-file", "two.env");
    expect(stdout).toMatch(/^Set TWO, ONE$/m);
    expect([code, await page("with-env.localhost")]).toEqual([0, "1=1 second value"]);
    const again = await run(folder.path, "deploy", "--server", "localhost", "--environment", "production");
    expect([again.code, again.stderr]).toEqual([0, ""]);
    const elsewhere = await run(folder.path, "deploy", "--environment", "staging");
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      2,
      expect.stringContaining("with-env is in the environment production and is not moved by --environment."),
    ]);
  });

  test("creates the application on first use, uploads, follows, prints the URL, and remembers", async () => {
    using folder = temporaryFolder({
      ...webServer("first"),
      ".gitignore": ".env\n",
      ".env": "SECRET=1",
      "node_modules/x": "",
    });
    const { code, stdout, stderr } = await run(folder.path, "deploy");
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^Created application web \(\w{24}\) in .+\/production on localhost$/m);
    expect(stdout).toContain(`Remembered it in ${folder.path}/.berth/app.json`);
    expect(stdout).toMatch(/^Uploaded 3 files, /m);
    expect(stdout).toContain("Detected Node.js");
    expect(stdout).not.toContain("\u001b");
    const url = stdout.trimEnd().split("\n").at(-1) ?? "";
    expect(url).toBe(`http://web.localhost:${server.proxyPort}`);
    expect(code).toBe(0);
    expect(await page("web.localhost")).toBe("first");

    folder.write({ ...webServer("second"), "src/deep/a.txt": "" });
    const again = await run(join(folder.path, "src/deep"), "deploy", "--start-command", "GREETING=kept node server.js");
    expect(again.stdout).toContain("Changed start command\n");
    expect(again.stdout).not.toContain("Created");
    expect(again.code).toBe(0);
    expect(await page("web.localhost")).toBe("second");
    expect(await page("web.localhost", "/greeting")).toBe("kept");
  });

  test("of a folder that nothing is recognised in says what is there and what helps, once, and makes nothing", async () => {
    using folder = temporaryFolder({ "notes.txt": "", "main.zig": "" });
    const { code, stdout, stderr } = await run(folder.path, "deploy", "--name", "unknown");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(
      "/ holds main.zig, notes.txt. Set start_command (berth deploy --start-command 'node server.js')",
    );
    expect(stderr.match(/It is not clear how to start this/g)).toHaveLength(1);
    expect(existsSync(join(folder.path, ".berth"))).toBe(false);
    expect((await run(folder.path, "apps")).stdout).not.toContain("unknown");
  });

  test("builds another language than Node, and offers the Dockerfile that it does not use", async () => {
    if (!existsSync("/usr/bin/python3"))
      return console.log("Skipped the deployment of Python: /usr/bin/python3 is not installed");
    const example = join(import.meta.dirname, "../../../examples/languages/python");
    const source = readFileSync(join(example, "main.py"), "utf8");
    using folder = temporaryFolder({ "main.py": source, Procfile: "web: python3 main.py\n", Dockerfile: "FROM x\n" });
    const { code, stdout, stderr } = await run(folder.path, "deploy", "--name", "snake");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Detected Python, Procfile");
    expect(stdout.match(/It has a Dockerfile too, and is built by its Procfile\./g)).toHaveLength(1);
    expect(await page("snake.localhost")).toBe("Hello from Python\n");
  });

  test("with a broken build exits with 1, says why in one sentence, and leaves the old release serving", async () => {
    using folder = temporaryFolder({ ...slowBuild(2) });
    expect((await run(folder.path, "deploy")).code).toBe(0);
    folder.write(slowBuild(3, 3));
    const { code, stdout } = await run(folder.path, "deploy");
    expect(code).toBe(1);
    expect(stdout).toContain("Error: no such module");
    expect(stdout).toMatch(/^The deployment failed at "Build": .*npm run build.* code 3\.$/m);
    expect(stdout.match(/exited with code 3/g)).toHaveLength(1);
    expect(await page("slow.localhost")).toBe("slow");
    expect((await run(folder.path, "deployments")).stdout).toMatch(/failed .*exited with code 3/);
  });

  test("interrupted while following ends with 130 and says how to continue, and the deployment continues", async () => {
    using folder = temporaryFolder(slowBuild(60));
    const running = start(["deploy", "--name", "interrupted"], { cwd: folder.path, env: env() });
    await until(() => running.stdout().includes("built 2"));
    running.interrupt();
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    const uuid = /berth cancel (\w{24})$/m.exec(stdout)?.[1] ?? "";
    expect(stdout).toContain(`Follow it again:  berth logs --deployment ${uuid} -f`);

    const followed = await run(folder.path, "logs", "--deployment", uuid, "-f");
    expect(followed.code).toBe(0);
    // All lines from beginning to end, each once.
    const built = followed.stdout.split("\n").filter((line) => line.startsWith("built "));
    expect(built).toEqual(Array.from({ length: 60 }, (_, i) => `built ${i + 1}`));
  });

  test("--detach does not wait, and berth cancel ends it", async () => {
    using folder = temporaryFolder(slowBuild(600));
    const { code, stdout } = await run(folder.path, "deploy", "--name", "detached", "--detach");
    expect(code).toBe(0);
    const uuid = /^Queued deployment (\w{24})$/m.exec(stdout)?.[1] ?? "";
    const following = start(["logs", "--deployment", uuid, "-f"], { cwd: folder.path, env: env() });
    await until(() => following.stdout().includes("built 1"));
    expect((await run(folder.path, "cancel", uuid)).stdout).toContain("cancelled");
    const followed = await following.ended;
    expect(followed.stdout).toContain("The deployment was cancelled.");
    expect(followed.code).toBe(1);
    const again = await run(folder.path, "cancel", uuid);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("cannot be cancelled")]);
  });

  test("--json prints the API's answers, a line each, and what is for people elsewhere", async () => {
    using folder = temporaryFolder(webServer("json"));
    const { code, stdout, stderr } = await run(folder.path, "--json", "deploy", "--name", "as-json");
    expect(code).toBe(0);
    const [queued, ...events] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(queued.deployments[0].resource_uuid).toBe(linked(folder.path).uuid);
    expect(events.every(({ type }) => type === "line" || type === "state")).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: "state", deployment: { status: "finished" } });
    expect(stderr).toContain("Created application as-json");
  });

  test("from git builds what is in the repository, not what is in the folder", async () => {
    using repository = gitRepository(webServer("from git"));
    using elsewhere = temporaryFolder({ "a.txt": "" });
    const argv = ["deploy", "--git", `file://${repository.path}`, "--name", "from-git"];
    const { code, stdout, stderr } = await run(elsewhere.path, ...argv);
    expect([stderr, code]).toEqual(["", 0]);
    expect(stdout).not.toContain("Uploaded");
    expect(await page("from-git.localhost")).toBe("from git");
    const again = await run(elsewhere.path, ...argv);
    expect([again.stderr, again.code]).toEqual(["", 0]);
    expect(again.stdout).toContain("from-git is in My project/production: deploying it again.");
    expect(again.stdout).not.toContain("Changed");
    // It has nothing to do with the repository.
    expect(existsSync(join(elsewhere.path, ".berth"))).toBe(false);
    using otherCheckout = gitRepository(webServer("other"));
    expect((await run(otherCheckout.path, "deploy", "--app", "from-git")).code).toBe(0);
    expect(existsSync(join(otherCheckout.path, ".berth"))).toBe(false);
    const wrong = await run(elsewhere.path, "deploy", "--app", "web", "--branch", "main");
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("gets its code from uploads, not from git"),
    ]);
  });

  test("from a branch that does not exist names the flag to correct", async () => {
    using repository = gitRepository(webServer("from git"));
    using elsewhere = temporaryFolder();
    const flags = ["--git", `file://${repository.path}`, "--branch", "nope", "--name", "no-branch"];
    const { code, stdout } = await run(elsewhere.path, "deploy", ...flags);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/The deployment failed .* has no branch nope\. .* Correct --branch\.$/m),
    ]);
  });

  test("from git of something that is not recognised says what is there and what helps, once, and leaves nothing", async () => {
    using repository = gitRepository({ "notes.txt": "", "run.js": webServer("by hand")["server.js"] ?? "" });
    using elsewhere = temporaryFolder({ "a.txt": "" });
    const argv = ["deploy", "--git", `file://${repository.path}`, "--name", "odd"];
    const { code, stdout } = await run(elsewhere.path, ...argv);
    expect(code).toBe(1);
    expect(stdout).toContain("/ holds notes.txt, run.js. Set start_command (berth deploy --start-command");
    expect(stdout.match(/It is not clear how to start this/g)).toHaveLength(1);
    expect(stdout).toContain("Application odd was removed again.");
    expect((await run(elsewhere.path, "apps")).stdout).not.toMatch(/^odd /m);
    const flags = ["--start-command", "node run.js"];
    const again = await run(elsewhere.path, ...argv, ...flags);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("Created application odd")]);
    const changed = ["--start-command", "node ./run.js"];
    expect((await run(elsewhere.path, ...argv, ...changed)).stdout).toContain("Changed start command\n");
    expect((await run(elsewhere.path, ...argv, ...changed)).stdout).not.toContain("Changed");
  });

  test("of a folder that its named build pack does not recognise leaves nothing", async () => {
    using folder = temporaryFolder({ "notes.txt": "" });
    const { code, stdout } = await run(folder.path, "deploy", "--name", "odder", "--build-pack", "nixpacks");
    expect([code, stdout]).toEqual([1, expect.stringContaining("Application odder was removed again.")]);
    expect((await run(folder.path, "apps")).stdout).not.toContain("odder");
    expect(readFileSync(join(folder.path, ".berth", "app.json"), "utf8")).not.toContain("odder");
    const again = await run(folder.path, "deploy", "--name", "odder");
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("It is not clear how to start this")]);
  });

  test("is taken back to the release before, and berth app says which one runs", async () => {
    using folder = temporaryFolder(webServer("first"));
    expect((await run(folder.path, "deploy", "--name", "back")).code).toBe(0);
    const [, first = ""] = /^Commit +(\w{64})$/m.exec((await run(folder.path, "app")).stdout) ?? [];
    folder.write(webServer("second"));
    expect((await run(folder.path, "deploy")).code).toBe(0);
    const { code, stdout } = await run(folder.path, "rollback");
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Rolls back back to ${first.slice(0, 10)}`)]);
    expect(await page("back.localhost")).toBe("first");
    expect((await run(folder.path, "app")).stdout).toMatch(new RegExp(`^Commit +\\w{64} \\(${first} runs\\)$`, "m"));
    const detached = await run(folder.path, "run", "--detach", "--", "echo", "hello");
    expect([detached.code, detached.stdout]).toEqual([0, expect.stringContaining("task run echo hello (")]);

    // Started again, it is still what the rollback runs, without a build.
    expect((await run(folder.path, "stop")).code).toBe(0);
    const started = await run(folder.path, "start");
    expect([started.code, started.stdout]).toEqual([0, expect.stringContaining(`Starts the build of commit ${first}`)]);
    expect(started.stdout).not.toContain("Detected");
    expect(await page("back.localhost")).toBe("first");
  });

  test("from git that fails for another reason keeps the application, and says how to continue", async () => {
    using repository = gitRepository({ Procfile: "web: exit 3" });
    using elsewhere = temporaryFolder({ "a.txt": "" });
    const { code, stdout } = await run(
      elsewhere.path,
      "deploy",
      "--git",
      `file://${repository.path}`,
      "--name",
      "kept",
    );
    const kept = /^Application kept is kept, and nothing of it runs\.\n.*--app kept,/m;
    expect([code, stdout]).toEqual([1, expect.stringMatching(kept)]);
    expect(stdout).toContain("berth delete kept\n");
    expect((await run(elsewhere.path, "delete", "kept", "--yes")).code).toBe(0);
  });

  test("asks rather than guesses when the name is taken, and deploys to what --app names", async () => {
    using original = temporaryFolder(webServer("original"));
    using clone = temporaryFolder(webServer("clone"));
    const manifest = JSON.stringify({ name: "twice", scripts: { start: "node server.js" } });
    for (const folder of [original, clone]) folder.write({ "package.json": manifest });
    expect((await run(original.path, "deploy")).code).toBe(0);
    const refused = await run(clone.path, "deploy");
    const { uuid } = linked(original.path);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("berth deploy . --app twice\n")]);
    expect((await run(clone.path, "deploy", ".", "--app", "twice")).code).toBe(0);
    expect(linked(clone.path).uuid).toBe(uuid);
    expect(await page("twice.localhost")).toBe("clone");
    clone.write(webServer("clone again"));
    expect((await run(clone.path, "deploy", "--app", "twice")).code).toBe(0);
    expect(await page("twice.localhost")).toBe("clone again");
  });

  test("to what --app names uploads no folder that was never deployed as it, unless the folder is named", async () => {
    using own = temporaryFolder(webServer("own"));
    using other = temporaryFolder({ ...webServer("other"), "docs/letter.txt": "private" });
    expect((await run(own.path, "deploy", "--name", "guarded")).code).toBe(0);
    expect((await run(other.path, "deploy", "--name", "stray")).code).toBe(0);
    const refused = await run(join(other.path, "docs"), "deploy", "--app", "guarded", "--start-command", "node x.js");
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([
      2,
      "",
      expect.stringContaining(`${other.path} is not remembered as a folder of guarded, so it is not uploaded.`),
    ]);
    expect(refused.stderr).toContain("berth deploy .. --app guarded\n");
    expect(linked(other.path).name).toBe("stray");
    expect(await page("guarded.localhost")).toBe("own");
    // A fresh checkout of a CI job.
    using checkout = temporaryFolder(webServer("from CI"));
    expect((await run(checkout.path, "deploy", ".", "--app", "guarded")).code).toBe(0);
    expect(await page("guarded.localhost")).toBe("from CI");
  });

  test("takes the same command in a folder that remembers nothing, as in a CI job, for the same application", async () => {
    const command = ["deploy", "--name", "from-ci", "--environment", "production", "--server", "localhost"];
    using first = temporaryFolder(webServer("first"));
    using second = temporaryFolder(webServer("second"));
    expect((await run(first.path, ...command)).code).toBe(0);
    const again = await run(second.path, ...command);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("from-ci is in My project/production")]);
    expect(linked(second.path).uuid).toBe(linked(first.path).uuid);
    expect(await page("from-ci.localhost")).toBe("second");
    // The folder's own name is meant where the command names the place, whose case does not matter.
    const nameless = (server: string) => ["deploy", "--environment", "production", "--server", server];
    using checkout = temporaryFolder(webServer("third"));
    expect((await run(checkout.path, ...nameless("localhost"))).code).toBe(0);
    rmSync(join(checkout.path, ".berth"), { recursive: true });
    const repeated = await run(checkout.path, ...nameless("Localhost"));
    expect([repeated.code, repeated.stdout]).toEqual([0, expect.stringContaining("deploying it again")]);
    const other = await run(second.path, "deploy", "--name", "from-ci", "--git", "https://example.com/from-ci.git");
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining("gets its code from uploads")]);
  });

  test("changes URLs without a deployment, and says which changes wait for one", async () => {
    using folder = temporaryFolder(webServer("moved"));
    expect((await run(folder.path, "deploy", "--name", "moving")).code).toBe(0);
    const flags = ["--domains", "http://moved.localhost", "--start-command", "node server.js"];
    const { stdout } = await run(folder.path, "applications", "update", "moving", ...flags);
    expect(stdout).toMatch(/^Takes effect within a second: domains$/m);
    expect(stdout).toMatch(/^Takes effect with the next deployment: start command$/m);
    await until(async () => (await page("moved.localhost")) === "moved", { seconds: 10, what: "the new URL answers" });
    const made = await server.rest("GET", `/deployments/applications/${linked(folder.path).uuid}`);
    expect(made.body).toMatchObject({ count: 1 });
  });

  test("tells what is wrong with a setting by the flag it was given with, and makes nothing", async () => {
    using folder = temporaryFolder(webServer("x"));
    const { code, stderr } = await run(folder.path, "deploy", "--name", "wrong", "--ports-exposes", "eighty");
    expect(code).toBe(1);
    expect(stderr).toContain("--ports-exposes: ");
    expect(existsSync(join(folder.path, ".berth"))).toBe(false);
    expect((await run(folder.path, "apps")).stdout).not.toContain("wrong");
  });

  test("leaves out links that lead outside, and says so", async () => {
    using folder = temporaryFolder(webServer("links"));
    symlinkSync("/etc/passwd", join(folder.path, "passwd"));
    const { code, stderr } = await run(folder.path, "deploy", "--name", "links");
    expect([code, stderr]).toEqual([0, "Warning: left out passwd: a link to a target outside of the folder\n"]);
  });
});
