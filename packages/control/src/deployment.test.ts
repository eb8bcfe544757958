import type { DeploymentEvent } from "@berth/core/deploy";
import type { Lease } from "@berth/core/ports";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitApplication, outcomes, type World, world } from "./world.fixture.ts";

let at: World;
let uuid: string;
beforeAll(async () => {
  at = await world();
});
beforeEach(async () => {
  const made = await at.own.applications.createPublic(gitApplication(at, { instant_deploy: true }));
  uuid = made.deployment_uuid ?? "";
});
afterAll(() => at.db.close());

/** Makes the deployment progress like a worker does, step by step. */
async function claimed(): Promise<{ lease: Lease; id: number }> {
  for (;;) {
    const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
    if (claim === undefined) throw new Error("Nothing waits.");
    if (claim.deployment.uuid === uuid) return { lease: claim.lease, id: claim.deployment.id };
    await at.db.system.deployments.finish(claim.lease, "finished", null);
  }
}
const isCancelRequested = async ({ owner }: Lease) =>
  (await at.db.system.deployments.renew(owner, [uuid], 60))[0]?.is_cancel_requested === true;
const print = (id: number, ...lines: string[]) =>
  at.db.system.deployments.appendLog(
    id,
    lines.map((output) => ({
      step: "build" as const,
      type: "stdout" as const,
      output,
      hidden: output.startsWith("hidden"),
      timestamp: new Date(),
    })),
  );

async function followed(
  after: number,
  signal = new AbortController().signal,
  control = at.own,
): Promise<DeploymentEvent[]> {
  const events: DeploymentEvent[] = [];
  for await (const { event } of await control.deployments.follow(uuid, { after, signal })) events.push(event);
  return events;
}
const linesOf = (events: readonly DeploymentEvent[]) =>
  events.flatMap((event) => (event.type === "line" ? [event.line.output] : []));
const withoutTimes = (event: DeploymentEvent) =>
  JSON.stringify(event, (key, value) => (key === "updated_at" ? undefined : value));
const statesOf = (events: readonly DeploymentEvent[]) =>
  events.flatMap((event) => (event.type === "state" ? [event.deployment.status] : []));

describe("a followed deployment", () => {
  test("tells every line and every state, in order, until it has ended", async () => {
    const following = followed(0);
    const { lease, id } = await claimed();
    for (let n = 1; n <= 30; n++) {
      await print(id, `line ${n}`);
      await at.db.system.deployments.renew(lease.owner, [uuid], 60);
    }
    await at.db.system.deployments.saveStep(lease, "build", { status: "done" });
    await print(id, "last");
    await at.db.system.deployments.finish(lease, "failed", "It broke.");
    const events = await following;
    expect(linesOf(events)).toEqual([...Array.from({ length: 30 }, (_, n) => `line ${n + 1}`), "last"]);
    expect(statesOf(events).at(-1)).toBe("failed");
    const states = events.filter(({ type }) => type === "state").map(withoutTimes);
    expect(new Set(states).size).toBe(states.length);
    const last = events.at(-1);
    expect(last).toMatchObject({ type: "state", deployment: { error: "It broke." } });
    expect(last?.type === "state" && last.steps.find(({ name }) => name === "build")?.status).toBe("done");
  });

  test("continues after any line without a gap and without repeating one", async () => {
    const { lease, id } = await claimed();
    await print(id, ...Array.from({ length: 1200 }, (_, n) => `line ${n}`));
    await at.db.system.deployments.finish(lease, "finished", null);
    const all = linesOf(await followed(0));
    expect(all).toHaveLength(1200);
    for (const after of [1, 499, 500, 1199, 1200]) expect(linesOf(await followed(after))).toEqual(all.slice(after));
  });

  test("ends when its reader goes", async () => {
    const gone = new AbortController();
    const following = followed(0, gone.signal);
    await claimed();
    gone.abort();
    expect(statesOf(await following)).not.toContain("finished");
  });

  test("ends when its reader's token works no more", async () => {
    const token = await at.own.tokens.create({ name: "reader" });
    const tooLate = AbortSignal.timeout(10_000);
    const following = followed(0, tooLate, at.asToken(token));
    await claimed();
    await at.own.tokens.revoke(token.id);
    expect(statesOf(await following)).not.toContain("finished");
    expect(tooLate.aborted).toBe(false);
  });

  test("tells hidden lines to those who may read secrets only", async () => {
    const { lease, id } = await claimed();
    await print(id, "one", "hidden two", "three");
    await at.db.system.deployments.finish(lease, "finished", null);
    const reader = at.as(at.place.server.team_id, "read");
    expect(linesOf(await followed(0, undefined, reader))).toEqual(["one", "three"]);
    expect(linesOf(await followed(0))).toEqual(["one", "hidden two", "three"]);
    expect((await reader.deployments.log(uuid, { after: 0, take: 10 })).lines).toHaveLength(2);
    expect((await reader.deployments.log(uuid, { after: 0, take: 2 })).next).toBe(2);
    expect(await reader.deployments.get(uuid)).not.toHaveProperty("logs");
  });

  test("[S67] of another team is not found", async () => {
    const { deployments } = at.otherTeam.control;
    const signal = new AbortController().signal;
    const asked = [
      deployments.get(uuid),
      deployments.steps(uuid),
      deployments.cancel(uuid),
      deployments.log(uuid, { after: 0, take: 1 }),
      deployments.follow(uuid, { after: 0, signal }),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Deployment not found."));
    expect((await deployments.listActive({})).total).toBe(0);
  });
});

describe("a deployment's answers", () => {
  test("carry the last thousand lines as text, in the form of the API family", async () => {
    const { lease, id } = await claimed();
    await print(id, ...Array.from({ length: 1005 }, (_, n) => `line ${n + 1}`));
    await at.db.system.deployments.finish(lease, "finished", null);
    const { logs } = await at.own.deployments.get(uuid);
    const lines = JSON.parse(logs ?? "[]");
    expect(lines).toHaveLength(1000);
    expect(lines.at(-1)).toEqual({
      command: null,
      output: "line 1005",
      type: "stdout",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      hidden: false,
      batch: 1,
      order: 1005,
    });
  });

  test("have text where the API family has text", async () => {
    const { application_id, destination_id, id } = await at.own.deployments.get(uuid);
    expect([typeof application_id, typeof destination_id, typeof id]).toEqual(["string", "string", "number"]);
  });
});

describe("cancelling", () => {
  test("a waiting deployment ends at once", async () => {
    expect(await at.own.deployments.cancel(uuid)).toEqual({
      message: "Deployment cancelled successfully.",
      deployment_uuid: uuid,
      status: "cancelled-by-user",
    });
    await expect(at.own.deployments.cancel(uuid)).rejects.toMatchObject({
      code: "deployment.not_cancellable",
      message: "Deployment cannot be cancelled. Current status: cancelled-by-user",
    });
  });

  test("a running one answers when its work has ended", async () => {
    const { lease } = await claimed();
    const cancelling = at.own.deployments.cancel(uuid);
    while (!(await isCancelRequested(lease)));
    await at.db.system.deployments.finish(lease, "cancelled-by-user", null);
    expect((await cancelling).status).toBe("cancelled-by-user");
  });

  test("tells that a deployment was faster than the request", async () => {
    const { lease } = await claimed();
    const refused = expect(at.own.deployments.cancel(uuid)).rejects.toThrow(
      "Deployment cannot be cancelled. Current status: finished",
    );
    while (!(await isCancelRequested(lease)));
    await at.db.system.deployments.finish(lease, "finished", null);
    await refused;
  });
});
