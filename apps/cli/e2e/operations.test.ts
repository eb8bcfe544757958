import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { type TemporaryFolder, temporaryFolder } from "../src/temporary-folder.fixture.ts";
import { berth, type Ran } from "./cli.fixture.ts";

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

const run = (argv: readonly string[], input?: string): Promise<Ran> =>
  berth(argv, {
    cwd: home.path,
    env: { PATH: process.env.PATH ?? "", HOME: home.path, BERTH_DATA: server.dataFolder },
    ...(input === undefined ? {} : { input }),
  });
const json = async (...argv: string[]) => JSON.parse((await run(["--json", ...argv])).stdout);

describe("commands that are made from the operations", () => {
  test("create, show, change, list and delete", async () => {
    const [project] = await json("projects", "list");
    const [machine] = await json("servers", "list");
    const { uuid } = await json(
      ...["applications", "create", "upload", "--name", "made", "--no-autogenerate-domain"],
      ...["--project-uuid", project.uuid, "--environment-name", "production", "--server-uuid", machine.uuid],
    );
    expect(await json("applications", "get", uuid)).toMatchObject({ name: "made", fqdn: null });
    const checks = ["--health-check-path", "/up", "--health-check-interval", "7"];
    const updated = await run(["applications", "update", uuid, ...checks]);
    expect(updated.stdout).toMatch(/^Changed health check path, health check interval$/m);
    expect(await json("applications", "get", uuid)).toMatchObject({
      health_check_path: "/up",
      health_check_interval: 7,
    });
    const envs = JSON.stringify({ data: [{ key: "A", value: "1" }, { key: "B" }] });
    expect(await run(["applications", "envs", "update-bulk", uuid, "--input", "-"], envs)).toMatchObject({ code: 0 });
    expect((await run(["applications", "envs", "list", uuid, "--take", "2"])).stdout).toMatch(
      /^KEY +IS PREVIEW +UUID/m,
    );

    const unconfirmed = await run(["applications", "delete", uuid]);
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining("confirm it with --yes")]);
    const gone = await run(["applications", "delete", uuid, "--yes", "--no-delete-volumes"]);
    expect([gone.code, gone.stdout]).toEqual([0, expect.stringContaining("deletion request queued")]);
  });

  test("name the flag that is wrong", async () => {
    const { code, stderr } = await run(["projects", "environments", "create", "My project", "--name", "a"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("--name: ")]);
    const empty = await run(["databases", "envs", "create", "shop-db"]);
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringMatching(/Required: .*--key/)]);
  });

  test("print what the API refused with --json, beside the sentence for people", async () => {
    const { code, stdout, stderr } = await run(["--json", "databases", "get", "nothing"]);
    expect([code, stderr]).toEqual([1, "Database not found.\n"]);
    expect(JSON.parse(stdout)).toMatchObject({ message: "Database not found.", code: "resource.not_found" });
  });

  test("are shown by the help, with what they take", async () => {
    const help = (await run(["--help"])).stdout;
    expect(help).toContain("Everything the API offers:");
    expect(help).toMatch(/^ {2}applications +\S/m);
    const { stdout } = await run(["applications", "create", "public", "--help"]);
    expect(stdout).toMatch(/--git-repository <text>/);
    expect(stdout).toContain("POST /api/v1/applications/public");
    expect((await run(["applications", "lst"])).stderr).toMatch(/Did you mean one of list, ls\?/);
  });
});
