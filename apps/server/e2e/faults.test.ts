import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describeLarge, describeLargeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outcomeOf } from "./applications.fixture.ts";
import { canRead } from "./faults/checks.ts";
import { cutEngine } from "./faults/cut-engine.ts";
import { ground } from "./faults/ground.ts";
import { repeated } from "./faults/load.ts";
import { atRowEnd, inRow } from "./faults/row-end.ts";
import { SCENARIOS, type Sizes } from "./faults/scenarios.ts";
import { testServer } from "./server.fixture.ts";

const ENGINE_DEPLOYMENTS = 12;
/** The short form of `npm run faults`. */
const SHORT: Sizes = {
  restarts: 2,
  frozenSeconds: 1,
  halfOpen: 100,
  kills: 1,
  engine: { deployments: ENGINE_DEPLOYMENTS },
  cuts: 3,
  cluster: { deployments: 2, losses: 1 },
};

describeLarge("a server whose ground breaks", () => {
  let made: Awaited<ReturnType<typeof ground>>;
  beforeAll(async () => {
    made = await ground();
  });
  afterAll(() => made?.dispose());

  test.each(["restarts", "freeze", "half-open", "proxy", "postmaster", "server"])("holds: %s", async (name) => {
    expect(await inRow(async () => SCENARIOS[name]?.run(made, SHORT))).toEqual(expect.any(String));
  });

  test("says at once that the server has ended", async () => {
    const { server } = made;
    process.kill(server.pid(), "SIGKILL");
    await server.exited();
    await expect(outcomeOf(server, made.uuid)).rejects.toThrow("ended unexpectedly");
    await expect(canRead(server)).rejects.toThrow("ended unexpectedly");
  });
});

test("a row whose body throws leaves nothing that runs in the background", async () => {
  const ended: string[] = [];
  let [count, running] = [0, 0];
  const row = inRow(async () => {
    atRowEnd(() => ended.push(`server, beside ${running} clients`));
    repeated(2, async () => {
      count += 1;
      running += 1;
      await delay(1);
      running -= 1;
    });
    atRowEnd(() => Promise.reject(new Error("a cleanup of its own that fails")));
    await until(() => count > 10);
    throw new Error("broken");
  });
  await expect(row).rejects.toThrow("broken");
  expect(ended).toEqual(["server, beside 0 clients"]);
});

test("a server that does not start leaves no process", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-hanging-"));
  const [main, pidFile] = [join(folder, "main.mjs"), join(folder, "pid")];
  writeFileSync(
    main,
    `import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
setInterval(() => {}, 1000);`,
  );
  await expect(testServer({ main, dataFolder: folder, startSeconds: 2 })).rejects.toThrow("Not within");
  expect(() => process.kill(Number(readFileSync(pidFile, "utf8")), 0)).toThrow("ESRCH");
  rmSync(folder, { recursive: true });
});

describeLargeDocker("a server whose connections to the engine are cut", ["busybox:stable", "caddy:2"], () => {
  test("finishes its deployments", async () => {
    const happened = await inRow(() => cutEngine(SHORT.engine));
    expect(happened).toContain(`${ENGINE_DEPLOYMENTS} of ${ENGINE_DEPLOYMENTS} deployments`);
  });
});
