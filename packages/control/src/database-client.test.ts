import type { DatabaseCommand } from "@berth/core/database";
import type { CommandIO, Terminal, TerminalOptions } from "@berth/core/ports";
import type { TerminalSize } from "@berth/core/resource";
import { printingEngine } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type World, world } from "./world.fixture.ts";

const commands: DatabaseCommand[] = [];
let printed = "";

/** Returns its input, followed by `printed`. */
async function command(_ref: unknown, asked: DatabaseCommand, { input, output }: CommandIO) {
  commands.push(asked);
  const read: Uint8Array[] = [];
  for await (const chunk of input ?? []) read.push(chunk);
  async function* chunks() {
    yield* read;
    yield Buffer.from(printed);
  }
  await output?.(chunks());
  return { exitCode: 3, errors: ["ERROR:  no such table"] };
}

const opened: (TerminalOptions | undefined)[] = [];
const terminal = async (_ref: unknown, _size: TerminalSize, options?: TerminalOptions): Promise<Terminal> => {
  opened.push(options);
  const done = async () => undefined;
  return { output: (async function* () {})(), write: done, resize: done, close: done, exitCode: async () => 0 };
};

let at: World;
beforeAll(async () => {
  const engine = { ...printingEngine({ kinds: ["application", "database"] }), containers: { command, terminal } };
  at = await world({ engineFor: () => engine });
});
afterAll(() => at.db.close());

async function runningDatabase(engine: "postgresql" | "mongodb"): Promise<string> {
  const { uuid } = await at.own.databases.create(engine, { ...at.where, instant_deploy: true });
  const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
  if (claim === undefined) throw new Error("Nothing waits.");
  const built_by = claim.deployment.uuid;
  const artifact = { type: "image", image: "test" } as const;
  await at.db.system.releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by });
  await at.db.system.releases.promote(claim.lease);
  await at.db.system.deployments.finish(claim.lease, "finished", null);
  return uuid;
}

describe("the client of a database", () => {
  test("reads the statements, gets the password in a variable alone, and answers what it printed", async () => {
    const uuid = await runningDatabase("postgresql");
    await at.own.databases.update(uuid, { postgres_password: "hush-hush" });
    printed = "kept\n";
    expect(await at.own.databaseClients.run(uuid, { statements: "select 1" })).toEqual({
      client: "psql",
      exit_code: 3,
      output: "select 1\nkept\n",
      errors: "ERROR:  no such table",
      is_truncated: false,
    });
    const asked = commands.at(-1);
    expect(asked?.variables).toEqual({ PGPASSWORD: "hush-hush" });
    expect(asked?.argv.join(" ")).not.toContain("hush-hush");
  });

  test("answers the beginning of an output that has no end in sight", async () => {
    const uuid = await runningDatabase("postgresql");
    printed = "x".repeat(2_000_000);
    const { output, is_truncated } = await at.own.databaseClients.run(uuid, { statements: "a" });
    expect([output.length, is_truncated]).toEqual([1_048_576, true]);
  });

  test.each([
    ["postgresql", "psql", "postgres_password", "PGPASSWORD"],
    ["mongodb", "mongosh", "mongo_initdb_root_password", "BERTH_LOGIN_PASSWORD"],
  ] as const)(
    "of %s is %s in a terminal, with the password in a variable alone",
    async (engine, program, field, name) => {
      const uuid = await runningDatabase(engine);
      await at.own.databases.update(uuid, { [field]: "hush-hush" });
      const open = (by: World["own"]) =>
        by.terminals.openInContainer({ kind: "database", uuid }, { columns: 80, rows: 24 }, { isClient: true });
      await (await open(at.as(at.place.server.team_id, "terminal"))).close();
      const command = opened.at(-1)?.command;
      expect([command?.argv[0], command?.variables[name]]).toEqual([program, "hush-hush"]);
      expect(command?.argv.join(" ")).not.toContain("hush-hush");
      await expect(open(at.own)).rejects.toMatchObject({ code: "auth.missing_ability" });
    },
  );

  test("is refused where nothing runs, where Berth starts none, and to who may only read", async () => {
    const { uuid } = await at.own.databases.create("postgresql", at.where);
    const run = (database: string, by = at.own) => by.databaseClients.run(database, { statements: "a" });
    await expect(run(uuid)).rejects.toMatchObject({ code: "resource.not_running" });
    await expect(run(await runningDatabase("mongodb"))).rejects.toMatchObject({ code: "engine.unsupported" });
    const reader = at.as(at.place.server.team_id, "read", "read:sensitive");
    await expect(run(uuid, reader)).rejects.toMatchObject({ code: "auth.missing_ability" });
    await expect(run(uuid, at.otherTeam.control)).rejects.toThrow("Database not found.");
  });
});
