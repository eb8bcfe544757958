import type { EnqueueOutcome, NewDeployment, Stores } from "@berth/core/ports";
import { ServerSettings } from "@berth/core/server";
import { newDeployment, testApplication, testPlace, testServer, testTeam, testUuid } from "@berth/testing";
import { describe, expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const LIMIT = ServerSettings.parse({}).deployment_queue_limit;

const outcomes = (answers: readonly EnqueueOutcome[]) => answers.map(({ outcome }) => outcome);
const countOf = (answers: readonly EnqueueOutcome[], outcome: EnqueueOutcome["outcome"]) =>
  answers.filter((answer) => answer.outcome === outcome).length;
const queue = async (stores: Stores, ...deployments: NewDeployment[]) =>
  outcomes(await stores.deployments.enqueue(deployments));

onEachBackend((database) => {
  it("queues a deployment with the names it will be listed with", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place);
    const wanted = newDeployment(app, { pull_request_id: 7, is_webhook: true, git_type: "github" });
    const [answer] = await stores.deployments.enqueue([wanted]);
    if (answer?.outcome !== "queued") throw new Error(`It was ${answer?.outcome}`);
    const { is_instant: _, ...expected } = wanted;
    expect(answer.deployment).toMatchObject({
      ...expected,
      team_id: app.team_id,
      resource_uuid: app.uuid,
      resource_name: app.name,
      server_name: place.server.name,
      status: "queued",
      attempt: 0,
      commit_message: null,
      started_at: null,
    });
    expect(await stores.deployments.find(wanted.uuid)).toEqual(answer.deployment);
    expect((await stores.events.list({})).at(-1)).toMatchObject({
      type: "deployment.queued",
      resource_uuid: app.uuid,
      payload: { deployment_uuid: wanted.uuid, commit: wanted.commit },
    });
  });

  it("holds the limit exactly under 1,000 requests at once for distinct commits", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const answers = (
      await Promise.all(Array.from({ length: 1000 }, () => stores.deployments.enqueue([newDeployment(app)])))
    ).flat();
    expect(countOf(answers, "queued")).toBe(LIMIT);
    expect(countOf(answers, "full")).toBe(1000 - LIMIT);
    expect((await stores.deployments.listActive()).total).toBe(LIMIT);
    expect((await stores.deployments.listByResource(app.id, {}, { take: 1 })).total).toBe(LIMIT);
  });

  it("queues the same commit for another server", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { server, destination } = await testPlace(stores);
    const here = newDeployment(app);
    const away = { ...here, uuid: testUuid(), server_id: server.id, destination_id: destination.id };
    expect(await queue(stores, here, away)).toEqual(["queued", "queued"]);
    expect(await queue(stores, { ...here, uuid: testUuid() })).toEqual(["duplicate"]);
    expect(await queue(stores, { ...away, uuid: testUuid() })).toEqual(["duplicate"]);
    const active = await database().system.deployments.listActiveOf(app.id);
    expect(active.map(({ uuid }) => uuid)).toEqual([here.uuid, away.uuid]);
  });

  it("counts what waits on the server, whoever's it is, and not what runs", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores, { deployment_queue_limit: 2, concurrent_builds: 5 });
    const [one, two] = [await testApplication(stores, place), await testApplication(stores, place)];
    expect(await queue(stores, newDeployment(one))).toEqual(["queued"]);
    expect(await queue(stores, newDeployment(two))).toEqual(["queued"]);
    expect(await queue(stores, newDeployment(two))).toEqual(["full"]);
    await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [place.server.id]);
    expect(await queue(stores, newDeployment(two))).toEqual(["queued"]);
    expect(await stores.deployments.enqueue([newDeployment(one)])).toEqual([{ outcome: "full", limit: 2 }]);
  });

  it("answers a duplicate with the deployment that waits or runs, even when the queue is full", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores, { deployment_queue_limit: 1 });
    const app = await testApplication(stores, place);
    const first = newDeployment(app);
    const again = () => newDeployment(app, { commit: first.commit });
    expect(await queue(stores, first)).toEqual(["queued"]);
    const [duplicate] = await stores.deployments.enqueue([again()]);
    expect(duplicate).toMatchObject({ outcome: "duplicate", deployment: { uuid: first.uuid } });
    const claimed = await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [
      place.server.id,
    ]);
    expect(await queue(stores, again())).toEqual(["duplicate"]);
    if (claimed !== undefined) await database().system.deployments.finish(claimed.lease, "finished", null);
    expect(await queue(stores, again())).toEqual(["queued"]);
  });

  it("takes another pull request, and what forces, rolls back or is instant, for no duplicate", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { commit } = newDeployment(app);
    const answers = [{}, { pull_request_id: 1 }, { force_rebuild: true }, { rollback: true }, { is_instant: true }];
    for (const fields of answers) {
      expect(await queue(stores, newDeployment(app, { commit, ...fields }))).toEqual(["queued"]);
    }
  });

  it("takes a build for no duplicate of a restart, and a restart for one of a restart", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const ask = (restart_only: boolean) => queue(stores, newDeployment(app, { commit: "HEAD", restart_only }));
    expect([await ask(true), await ask(false)]).toEqual([["queued"], ["queued"]]);
    expect([await ask(true), await ask(false)]).toEqual([["duplicate"], ["duplicate"]]);
  });

  it("takes a restart for no duplicate of a deployment that keeps what has not changed", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const ask = (keeps_unchanged: boolean) => queue(stores, newDeployment(app, { commit: "HEAD", keeps_unchanged }));
    expect([await ask(true), await ask(true), await ask(false)]).toEqual([["queued"], ["duplicate"], ["queued"]]);
    expect(await ask(true)).toEqual(["duplicate"]);
  });

  it("takes nothing for a duplicate of what is being cancelled", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place);
    const first = newDeployment(app);
    const again = () => queue(stores, newDeployment(app, { commit: first.commit }));
    await stores.deployments.enqueue([first]);
    await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [place.server.id]);
    expect(await again()).toEqual(["duplicate"]);
    await stores.deployments.requestCancel(first.uuid);
    expect(await again()).toEqual(["queued"]);
    expect(await again()).toEqual(["duplicate"]);
  });

  it("loses no push that comes while the newest commit is being fetched", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place);
    const push = () => queue(stores, newDeployment(app, { commit: "HEAD" }));
    expect([await push(), await push()]).toEqual([["queued"], ["duplicate"]]);
    await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [place.server.id]);
    expect([await push(), await push()]).toEqual([["queued"], ["duplicate"]]);
  });

  it("counts an instant deployment against the limit", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores, { deployment_queue_limit: 1 }));
    expect(await queue(stores, newDeployment(app, { is_instant: true }))).toEqual(["queued"]);
    expect(await queue(stores, newDeployment(app, { is_instant: true }))).toEqual(["full"]);
  });

  describe("a list", () => {
    it("is queued whole or not at all", async () => {
      const stores = await testTeam(database());
      const roomy = await testApplication(stores, await testPlace(stores));
      const tight = await testApplication(stores, await testPlace(stores, { deployment_queue_limit: 1 }));
      const list = [newDeployment(roomy), newDeployment(tight), newDeployment(tight)];
      expect(await stores.deployments.enqueue(list)).toEqual(list.map(() => ({ outcome: "full", limit: 1 })));
      expect((await stores.deployments.listActive()).total).toBe(0);
      expect((await stores.events.list({})).some(({ type }) => type === "deployment.queued")).toBe(false);
      expect(await queue(stores, ...list.slice(0, 2))).toEqual(["queued", "queued"]);
    });

    it("sees its own earlier entries as duplicates", async () => {
      const stores = await testTeam(database());
      const app = await testApplication(stores, await testPlace(stores));
      const first = newDeployment(app);
      const answers = await stores.deployments.enqueue([first, newDeployment(app, { commit: first.commit })]);
      expect(outcomes(answers)).toEqual(["queued", "duplicate"]);
      expect(answers[1]).toMatchObject({ deployment: { uuid: first.uuid } });
    });

    it("holds every server's limit when many lists name the servers in different orders", async () => {
      const stores = await testTeam(database());
      const place = await testPlace(stores, { deployment_queue_limit: 10 });
      const other = { ...place, ...(await testServer(stores, { deployment_queue_limit: 10 })) };
      const [one, two] = [await testApplication(stores, place), await testApplication(stores, other)];
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          const pair = [newDeployment(one), newDeployment(two)];
          return stores.deployments.enqueue(index % 2 === 0 ? pair : pair.reverse());
        }),
      );
      expect(countOf(answers.flat(), "queued")).toBe(20);
      expect((await stores.deployments.listActive()).total).toBe(20);
    });

    it("may be empty", async () => {
      expect(await (await testTeam(database())).deployments.enqueue([])).toEqual([]);
    });
  });

  it("is undone with the caller's transaction", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const undone = stores.transaction(async (tx) => {
      await tx.deployments.enqueue([newDeployment(app)]);
      throw new Error("on purpose");
    });
    await expect(undone).rejects.toThrow("on purpose");
    expect((await stores.deployments.listActive()).total).toBe(0);
  });

  it("knows no application and no server of another team", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const [own, foreign] = [
      await testApplication(one, await testPlace(one)),
      await testApplication(other, await testPlace(other)),
    ];
    const isUnknown = { code: "resource.not_found" };
    await expect(one.deployments.enqueue([newDeployment(foreign)])).rejects.toMatchObject(isUnknown);
    const mixed = newDeployment(own, { server_id: foreign.server_id });
    await expect(one.deployments.enqueue([mixed])).rejects.toMatchObject(isUnknown);
    const gone = newDeployment(own, { resource_id: 999_999, uuid: testUuid() });
    await expect(one.deployments.enqueue([newDeployment(own), gone])).rejects.toMatchObject(isUnknown);
    expect((await one.deployments.listActive()).total).toBe(0);
  });
});
