import { type ReleaseState, releaseLogTitle } from "@berth/core/deploy";
import { until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { FollowedLine } from "./log.ts";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
let ref: { readonly kind: "application"; readonly uuid: string };
beforeAll(async () => {
  at = await world();
});
beforeEach(async () => {
  const { uuid } = await at.own.applications.createPublic(gitApplication(at));
  ref = { kind: "application", uuid };
});
afterAll(() => at.db.close());

/** Deploys like a worker, up to a live release; returns its deployment's uuid. */
async function deployed({ isKnownToEngine = true } = {}): Promise<string> {
  const { deployments = [] } = await at.own.deploy({ uuid: ref.uuid, force: true });
  const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
  const uuid = deployments[0]?.deployment_uuid;
  if (claim === undefined || claim.deployment.uuid !== uuid) throw new Error("Another deployment waits.");
  const artifact = { type: "image", image: "test" } as const;
  await at.db.system.releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by: uuid });
  await at.db.system.releases.promote(claim.lease);
  await at.db.system.deployments.finish(claim.lease, "finished", null);
  if (isKnownToEngine) at.engine.print(uuid);
  return uuid;
}

describe("what an application prints", () => {
  test("[S61] is answered by its last lines", async () => {
    const uuid = await deployed();
    at.engine.print(uuid, "one", "two", "three");
    expect(await at.own.logs.tail(ref, 2)).toEqual({ logs: "two\nthree" });
    const timed = await at.own.logs.tail(ref, 1, { hasTimestamps: true });
    expect(timed).toEqual({ logs: "2026-01-02T03:04:05.000000006Z three" });
  });

  test("is refused while it does not run", async () => {
    await expect(at.own.logs.tail(ref, 10)).rejects.toMatchObject({
      code: "resource.not_running",
      message: "Application is not running.",
    });
    await deployed({ isKnownToEngine: false });
    await expect(at.own.logs.tail(ref, 10)).rejects.toThrow("Application is not running.");
    const uuid = await deployed();
    at.engine.print(uuid, "one");
    const { id } = (await at.stores.applications.find(ref.uuid)) ?? { id: 0 };
    await at.stores.resources.setDesiredState(id, "stopped");
    await expect(at.own.logs.tail(ref, 10)).rejects.toThrow("Application is not running.");
    expect(await at.own.logs.tail(ref, 10, { previous: true })).toEqual({ logs: "one" });
  });

  test("is shown while its first release starts, and what it wrote last when that failed", async () => {
    const { deployments = [] } = await at.own.deploy({ uuid: ref.uuid, force: true });
    const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
    if (claim === undefined) throw new Error("Nothing waits.");
    await expect(at.own.logs.tail(ref, 10)).rejects.toThrow("Application is not running.");
    const uuid = deployments[0]?.deployment_uuid ?? "";
    const artifact = { type: "image", image: "test" } as const;
    await at.db.system.releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by: uuid });
    at.engine.print(uuid, "starting up");
    expect(await at.own.logs.tail(ref, 10)).toEqual({ logs: "starting up" });

    const texts = ["> health", releaseLogTitle(), "FATAL: no space", "bye", "health ended after 1.0 s: It crashed."];
    const lines = texts.map((output) => ({ step: "health" as const, type: "stderr" as const, output, hidden: false }));
    const timestamp = new Date();
    await at.db.system.deployments.appendLog(
      claim.deployment.id,
      lines.map((line) => ({ ...line, timestamp })),
    );
    await at.db.system.releases.delete(claim.deployment.id);
    await at.db.system.deployments.finish(claim.lease, "failed", "It crashed.");
    expect(await at.own.logs.tail(ref, 10)).toEqual({ logs: "FATAL: no space\nbye" });
    expect(await at.own.logs.tail(ref, 1)).toEqual({ logs: "bye" });
    expect(await at.own.logs.tail(ref, 1, { container: "replica-1" })).toEqual({ logs: "bye" });
    await expect(at.own.logs.tail(ref, 1, { container: "nope" })).rejects.toThrow(
      "has no container nope. It is a single one: leave out the name.",
    );
  });

  test("of a container that it lacks is refused with those that it has, while it runs", async () => {
    const deploymentUuid = await deployed();
    at.engine.print(deploymentUuid, "one");
    const single: ReleaseState = {
      ...{ resourceUuid: ref.uuid, deploymentUuid, state: "running", upstream: null },
      ...{ restartCount: 0, exitCode: null, startedAt: null },
    };
    const { name } = await at.own.applications.get(ref.uuid);
    const tail = (container: string) => at.own.logs.tail(ref, 1, { container });
    at.engine.show(single);
    await expect(tail("nope")).rejects.toMatchObject({
      code: "resource.not_found",
      message: `Application ${name} has no container nope. It is a single one: leave out the name.`,
    });
    expect(await tail("replica")).toEqual({ logs: "one" });
    const container = {
      ...single,
      name: "replica",
      isReplica: true,
      address: null,
      port: null,
      isExcluded: false,
    } as const;
    at.engine.show({ ...single, containers: [1, 2].map((number) => ({ ...container, number })) });
    const sentence = `Application ${name} has no container nope. It has replica-1, replica-2.`;
    await expect(tail("nope")).rejects.toThrow(sentence);
    const follow = { lines: 1, after: undefined, signal: new AbortController().signal, container: "nope" };
    await expect(at.own.logs.follow(ref, follow)).rejects.toThrow(sentence);
    expect(await tail("replica-2")).toEqual({ logs: "one" });
    expect(await tail("*")).toEqual({ logs: "one" });
  });

  test("is that of a preview where its pull request is named, also while the application is stopped", async () => {
    const own = await deployed();
    at.engine.print(own, "of the application");
    const of = { pullRequestId: 7 };
    await expect(at.own.logs.tail(ref, 10, of)).rejects.toMatchObject({ message: "Preview not found." });
    const { uuid: previewed } = await at.own.applications.createPublic(
      gitApplication(at, { is_preview_deployments_enabled: true }),
    );
    ref = { kind: "application", uuid: previewed };
    await at.own.deploy({ uuid: previewed, pull_request_id: 7 });
    const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
    if (claim === undefined) throw new Error("Nothing waits.");
    const { uuid, resource_id } = claim.deployment;
    await expect(at.own.logs.tail(ref, 10, of)).rejects.toThrow("Application is not running.");
    const artifact = { type: "image", image: "test" } as const;
    await at.db.system.releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by: uuid });
    at.engine.print(uuid, "of the preview");
    expect(await at.own.logs.tail(ref, 10, of)).toEqual({ logs: "of the preview" });
    await at.db.system.releases.promote(claim.lease);
    await at.db.system.deployments.finish(claim.lease, "finished", null);
    await at.stores.resources.setDesiredState(resource_id, "stopped");
    expect(await at.own.logs.tail(ref, 10, of)).toEqual({ logs: "of the preview" });
    await expect(at.own.logs.tail(ref, 10)).rejects.toThrow("Application is not running.");
  });

  test("[S67] is nobody else's", async () => {
    await deployed();
    await expect(at.otherTeam.control.logs.tail(ref, 10)).rejects.toThrow("Application not found.");
  });

  test("is followed from one release to the next, and resumed anywhere without gap", async () => {
    const first = await deployed();
    at.engine.print(first, "a1", "a2", "a3");
    const seen: FollowedLine[] = [];
    const gone = new AbortController();
    const following = collect(seen, { lines: 2, after: undefined, signal: gone.signal });
    await until(() => seen.length === 2);
    at.engine.print(first, "a4");
    const second = await deployed();
    at.engine.print(second, "b1", "b2");
    await until(() => seen.length === 5);
    gone.abort();
    await following;
    expect(seen.map(({ line }) => line)).toEqual(["a2", "a3", "a4", "b1", "b2"]);

    const behind = async (line: string) => {
      const after = seen.find((one) => one.line === line)?.cursor;
      const resumed: FollowedLine[] = [];
      const end = new AbortController();
      const running = collect(resumed, { lines: 0, after, signal: end.signal });
      at.engine.print(second, `end of ${line}`);
      await until(() => resumed.at(-1)?.line === `end of ${line}`);
      end.abort();
      await running;
      return resumed.map((one) => one.line).filter((text) => !text.startsWith("end of"));
    };
    expect(await behind("b1")).toEqual(["b2"]);
    // The cursor belongs to an earlier release: all lines of the new one are returned.
    expect(await behind("a3")).toEqual(["b1", "b2"]);
  });

  test("is followed no longer than the token works", async () => {
    const uuid = await deployed();
    const token = await at.own.tokens.create({ name: "reader" });
    const seen: FollowedLine[] = [];
    const gone = new AbortController();
    let isOpen = true;
    const options = { lines: 10, after: undefined, signal: gone.signal };
    const following = collect(seen, options, at.asToken(token)).then(() => {
      isOpen = false;
    });
    at.engine.print(uuid, "before");
    await until(() => seen.length === 1);
    await at.own.tokens.revoke(token.id);
    await until(() => !isOpen).finally(() => gone.abort());
    await following;
    at.engine.print(uuid, "after");
    expect(seen.map(({ line }) => line)).toEqual(["before"]);
  });

  async function collect(
    into: FollowedLine[],
    options: Parameters<World["own"]["logs"]["follow"]>[1],
    control = at.own,
  ) {
    for await (const line of await control.logs.follow(ref, options)) into.push(line);
  }
});
