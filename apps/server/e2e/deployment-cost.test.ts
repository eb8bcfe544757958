import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine, pidsWithEnv, processStat } from "@berth/host";
import { until, withClient } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createApplication,
  deploy,
  plainServer,
  requestDeployment,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type CountedServer, countedServer } from "./counted-server.fixture.ts";

/**
 * What a deployment without a build may cost on the process engine, the second one of an application, from its request
 * until the previous release is removed. A count that falls below its budget asks for a lower one.
 */
const BUDGET = {
  /** Fetch, commit and message, archive, and the release itself: started by the launcher, none by a fork of the server. */
  programs: 4,
  /** Transactions that write. What depends on time is left out: renewals of leases, and lines of the log alone. */
  writes: 12,
  /** All transactions, without those that only time repeats. */
  transactions: 30,
};

const { "server.js": script = "" } = plainServer("1");
const repository = temporaryRepository({ "server.js": script });
const folder = mkdtempSync(join(tmpdir(), "berth-count-"));
const spawns = join(folder, "spawns");
/** The status of the application is written only where it changes. */
const WRITES_SPARE = 4;
/** A resource is read again for each visit of its server that comes between two of its changes. */
const TRANSACTIONS_SPARE = 8;
let counting: CountedServer;
beforeAll(async () => {
  const { href } = new URL("./spawn-count.fixture.ts", import.meta.url);
  counting = await countedServer({ BERTH_TEST_SPAWNS: spawns, NODE_OPTIONS: `--import ${href}` });
});
afterAll(async () => {
  await counting?.dispose();
  repository.dispose();
  rmSync(folder, { recursive: true, force: true });
});

test("a deployment without a build starts few processes and makes few transactions", async () => {
  const { server, counted } = counting;
  const { uuid } = await createApplication(server, repository, { name: "plain", start_command: "node server.js" });
  await retired((await deploy(server, uuid)).uuid);
  repository.commit({ file: "new" });
  writeFileSync(spawns, "");
  counted.taken();
  const deployment = await requestDeployment(server, uuid);
  await retired(deployment);

  const started = readFileSync(spawns, "utf8").trim().split("\n");
  expect(started.filter((line) => line.startsWith("fork"))).toEqual([]);
  expect(started.length, started.join("\n")).toBe(BUDGET.programs);
  expect(starterOf(deployment)).toContain("launcher-main.js");
  const made = counted.taken();
  const own = made.filter(({ statements }) => !REPEATED.test(statements[0] ?? ""));
  const listed = own.map(({ statements }) => statements.join("\n  ")).join("\n");
  expect(own.length, listed).toBeLessThanOrEqual(BUDGET.transactions);
  expect(own.length, "Lower the budget.").toBeGreaterThan(BUDGET.transactions - TRANSACTIONS_SPARE);
  const writes = own.filter(({ statements }) => statements.some((text) => WRITES.test(text)));
  const shown = writes.map(({ statements }) => statements.join("\n  ")).join("\n");
  expect(writes.length, shown).toBeLessThanOrEqual(BUDGET.writes);
  expect(writes.length, "Lower the budget.").toBeGreaterThan(BUDGET.writes - WRITES_SPARE);
});

/** Command line of the process whose child the release is. */
function starterOf(deployment: string): string {
  const pids = pidsWithEnv(`BERTH_DEPLOYMENT_UUID=${deployment}`);
  const shim = pids.flatMap((pid) => processStat(pid) ?? []).find(({ parentPid }) => !pids.includes(parentPid));
  return commandLine(shim?.parentPid ?? 0).join(" ");
}

const WRITES = /\b(insert into|update|delete from) "(deployment|deployment_step|release|resource|event)"(?! run)/;

/** Looks for abandoned and waiting runs and for changes, batches of the log, and leases. */
const REPEATED =
  /^\s*(with "abandoned"|with "running"|with wanted|with counted|select distinct job\.type|select kind from unnest|insert into lease|update "deployment" run set lease_expires_at)/;

/** Asked without the server, whose own transactions are counted. */
const retired = (deployment: string) =>
  until(() =>
    withClient({ connectionString: counting.databaseUrl }, async (client) => {
      const { rowCount } = await client.query(
        `select from deployment join deployment_step step on step.deployment_id = deployment.id
         where uuid = $1 and name = 'retire' and step.status in ('done', 'skipped')`,
        [deployment],
      );
      return rowCount === 1;
    }),
  );
