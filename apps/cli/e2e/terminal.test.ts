import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DockerServer, dockerServer } from "../../server/e2e/docker.fixture.ts";
import { type TemporaryFolder, temporaryFolder } from "../src/temporary-folder.fixture.ts";
import { berth, startOnTerminal } from "./cli.fixture.ts";

/** The machine is shared with other suites. */
const WAIT = { seconds: 60 };

describeDocker("a terminal of the command line", ["redis:7.2"], (docker) => {
  let server: DockerServer;
  let home: TemporaryFolder;
  beforeAll(async () => {
    server = await dockerServer(docker);
    home = temporaryFolder();
    const { client } = server;
    const project = await client.projects.create.mutate({ name: "Shop" });
    const { uuid } = await client.databases.create.redis.mutate({
      ...{ project_uuid: project.uuid, environment_name: "production", server_uuid: server.dockerUuid },
      ...{ name: "cache", image: "redis:7.2", instant_deploy: true },
    });
    await until(async () => (await client.databases.get.query({ uuid })).status.startsWith("running"), WAIT);
  });
  afterAll(async () => {
    home?.[Symbol.dispose]();
    await server?.dispose();
  });

  const env = (variables: Readonly<Record<string, string>> = {}) => ({
    ...{ PATH: process.env.PATH ?? "", HOME: home.path, BERTH_DATA: server.dataFolder },
    ...variables,
  });
  const exec = (...command: readonly string[]) => ["exec", "-it", "--database", "cache", "--", ...command];
  const onTerminal = (argv: readonly string[], variables?: Readonly<Record<string, string>>) =>
    startOnTerminal(argv, { cwd: home.path, env: env(variables) });

  test("is a tty in the container, passes Ctrl-C and the exit code on", async () => {
    // The size arrives when the program already runs.
    const sized = 'until [ "$(stty size)" = "30 100" ]; do sleep 0.1; done; stty size';
    const script = `${sized}; tty; trap 'echo caught; exit 9' INT; sleep 4711`;
    const running = onTerminal(exec("sh", "-c", script));
    await until(() => /30 100\s+\/dev\/pts\/\d+/.test(running.stdout()), WAIT);
    running.interrupt();
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([9, expect.stringContaining("caught")]);
  });

  test("is the container's shell without a command", async () => {
    const running = onTerminal(["exec", "--database", "cache"]);
    running.send("echo $((40 + 2)); exit 3\n");
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([3, expect.stringMatching(/^42\s/m)]);
  });

  test("is the client of a database, signed in by the server", async () => {
    const running = onTerminal(["db", "redis-cli", "cache"]);
    await until(() => running.stdout().includes("127.0.0.1:6379>"), WAIT);
    running.send("ACL WHOAMI\r");
    await until(() => running.stdout().includes('"default"'), WAIT);
    running.send("exit\r");
    expect((await running.ended).code).toBe(0);
  });

  test("ends with a sentence when its token is revoked", async () => {
    const { token } = await server.client.tokens.create.mutate({ name: "short", abilities: ["read", "terminal"] });
    const running = onTerminal(exec("sh", "-c", "echo begun; sleep 4712"), {
      BERTH_URL: server.url,
      BERTH_TOKEN: token,
    });
    await until(() => running.stdout().includes("begun"), WAIT);
    expect(await berth(["tokens", "revoke", token.split("|")[0] ?? ""], { cwd: "/", env: env() })).toMatchObject({
      code: 0,
    });
    const { code, stdout } = await running.ended;
    expect([code, stdout]).toEqual([1, expect.stringContaining("does not know this token")]);
  });

  test("needs a terminal here, and says so", async () => {
    const { code, stderr } = await berth(exec("ls"), { cwd: home.path, env: env(), input: "" });
    expect([code, stderr]).toEqual([2, expect.stringContaining("Run a command without a terminal: berth exec")]);
  });

  test("is not offered on the machine of Berth itself, and says what to do", async () => {
    const { code, stdout } = await onTerminal(["ssh", "localhost"]).ended;
    expect([code, stdout]).toEqual([1, expect.stringContaining("Sign in to it by SSH.")]);
  });
});
