import type { DeploymentLogLine } from "@berth/core/deploy";
import type { Stores } from "@berth/core/ports";
import { newDeployment, type TestDatabase, testApplication, testPlace, testTeam } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const line = (output: string): Omit<DeploymentLogLine, "seq"> => ({
  step: "build",
  type: "stdout",
  output,
  hidden: false,
  timestamp: new Date("2026-01-02T03:04:05.678Z"),
});

async function deploymentOf(stores: Stores): Promise<number> {
  const app = await testApplication(stores, await testPlace(stores));
  const [answer] = await stores.deployments.enqueue([newDeployment(app)]);
  if (answer?.outcome !== "queued") throw new Error(`It was ${answer?.outcome}`);
  return answer.deployment.id;
}
const append = (database: TestDatabase, id: number, outputs: readonly string[]) =>
  database.system.deployments.appendLog(id, outputs.map(line));

onEachBackend((database) => {
  it("numbers lines from 1 without a gap, also when many append at once", async () => {
    const stores = await testTeam(database());
    const id = await deploymentOf(stores);
    const writers = 20;
    await Promise.all(
      Array.from({ length: writers }, (_, writer) =>
        append(database(), id, [`${writer} a`, `${writer} b`, `${writer} c`]),
      ),
    );
    const lines = await stores.deployments.log(id, {});
    expect(lines.map(({ seq }) => seq)).toEqual(Array.from({ length: writers * 3 }, (_, index) => index + 1));
    // Each batch stays together and in order.
    for (let at = 0; at < lines.length; at += 3) {
      const [writer] = lines[at]?.output.split(" ") ?? [];
      expect(lines.slice(at, at + 3).map(({ output }) => output)).toEqual([
        `${writer} a`,
        `${writer} b`,
        `${writer} c`,
      ]);
    }
  });

  it("shows a reader no number before the ones below it", async () => {
    const stores = await testTeam(database());
    const id = await deploymentOf(stores);
    let isWriting = true;
    const writing = Promise.all(Array.from({ length: 40 }, (_, index) => append(database(), id, [`${index}`]))).finally(
      () => {
        isWriting = false;
      },
    );
    while (isWriting) {
      const seqs = (await stores.deployments.log(id, {})).map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    }
    await writing;
  });

  it("keeps every field, and text that PostgreSQL cannot hold as nearly as it can", async () => {
    const stores = await testTeam(database());
    const id = await deploymentOf(stores);
    const written = {
      ...line("\u001B[31mred\u001B[0m \u2028 \"'\\ 🚢"),
      step: null,
      type: "stderr" as const,
      hidden: true,
    };
    await database().system.deployments.appendLog(id, [written, line("a\0b\uDC00")]);
    expect(await stores.deployments.log(id, {})).toEqual([
      { ...written, seq: 1 },
      { ...line("a\uFFFDb\uFFFD"), seq: 2 },
    ]);
  });

  it("reads behind a line, in pages, and the last ones", async () => {
    const stores = await testTeam(database());
    const id = await deploymentOf(stores);
    await append(database(), id, ["1", "2", "3", "4", "5"]);
    const outputs = async (query: Parameters<typeof stores.deployments.log>[1]) =>
      (await stores.deployments.log(id, query)).map(({ output }) => output);
    expect(await outputs({ after: 2 })).toEqual(["3", "4", "5"]);
    expect(await outputs({ after: 1, take: 2 })).toEqual(["2", "3"]);
    expect(await outputs({ last: 2 })).toEqual(["4", "5"]);
    expect(await outputs({ last: 10, after: 3 })).toEqual(["4", "5"]);
    expect(await outputs({ after: 5 })).toEqual([]);
    expect(await outputs({ last: 0 })).toEqual([]);
  });

  it("takes thousands of lines in one call, and none", async () => {
    const stores = await testTeam(database());
    const id = await deploymentOf(stores);
    await append(database(), id, []);
    await append(
      database(),
      id,
      Array.from({ length: 2_500 }, (_, index) => `${index + 1}`),
    );
    const lines = await stores.deployments.log(id, {});
    expect(lines).toHaveLength(2_500);
    expect(lines.every(({ seq, output }) => output === String(seq))).toBe(true);
  });

  it("ignores lines of a deployment that has gone", async () => {
    await append(database(), 999_999, ["nobody reads this"]);
  });
});
