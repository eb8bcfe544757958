import type { JobRecord, NewJob, ResourceRecord, ServerRecord } from "@berth/core/ports";
import type { JobStep } from "@berth/core/server";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const validation = (server: ServerRecord): NewJob => ({
  uuid: testUuid(),
  type: "server.validate",
  subject: { ...server, type: "server" },
});
const removal = (resource: ResourceRecord): NewJob => ({
  uuid: testUuid(),
  type: "resource.delete",
  subject: { ...resource, type: resource.kind },
});
const hold = (owner: string, leaseSeconds = 60) => ({ owner, leaseSeconds });

onEachBackend((database) => {
  async function world() {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const application = await testApplication(stores, place);
    const { jobs } = database().system;
    const find = async ({ uuid }: Pick<JobRecord, "uuid">) => {
      const job = await stores.jobs.find(uuid);
      if (job === undefined) throw new Error("The job is gone.");
      return job;
    };
    return { stores, ...place, application, jobs, find };
  }

  it("queues the same work on the same subject once, until it has ended", async () => {
    const { stores, server, jobs } = await world();
    const [first] = await stores.jobs.request([validation(server)]);
    const [second] = await stores.jobs.request([validation(server), validation(server)]);
    expect(first).toMatchObject({ status: "queued", attempts: 0, subject_name: server.name, error: null });
    expect(second).toEqual(first);
    const claimed = await jobs.claim(["server.validate"], [server.id], hold("a"));
    expect(await stores.jobs.request([validation(server)])).toMatchObject([{ uuid: first?.uuid }]);
    if (claimed) await jobs.finish(claimed.lease, "finished", null);
    const [third] = await stores.jobs.request([validation(server)]);
    expect(third?.uuid).not.toBe(first?.uuid);
  });

  it("gives a job to one worker, and to the next when its lease ran out", async () => {
    const { stores, server, jobs, find } = await world();
    const [job] = await stores.jobs.request([validation(server)]);
    if (job === undefined) throw new Error("No job.");
    const subjects = [server.id];
    const claims = await Promise.all(
      ["a", "b", "c"].map((owner) => jobs.claim(["server.validate"], subjects, hold(owner, 0.3))),
    );
    const [claimed, ...others] = claims.filter((claim) => claim !== undefined);
    expect([claimed?.job.uuid, others]).toEqual([job.uuid, []]);
    const held = [{ uuid: job.uuid, is_cancel_requested: false }];
    expect(await jobs.renew(claimed?.lease.owner ?? "", [job.uuid], 0.3)).toEqual(held);
    expect(await jobs.renew("d", [job.uuid], 60)).toEqual([]);
    const next = await expect
      .poll(() => jobs.claim(["server.validate"], subjects, hold("d")))
      .toMatchObject({ lease: { owner: "d", attempt: 2 } })
      .then(() => find(job));
    expect(next).toMatchObject({ status: "in_progress", attempts: 2 });
    // A worker that lost the lease changes nothing.
    if (claimed) expect(await jobs.finish(claimed.lease, "finished", null)).toBe(false);
    expect(await jobs.finish({ job_id: job.id, owner: "d", attempt: 2 }, "failed", "No\0 way.")).toBe(true);
    expect(await jobs.finish({ job_id: job.id, owner: "d", attempt: 2 }, "finished", null)).toBe(false);
    expect(await find(job)).toMatchObject({ status: "failed", error: "No\uFFFD way.", finished_at: expect.any(Date) });
  });

  it("fails the running steps of a job with it, and leaves the others", async () => {
    const { stores, server, jobs, find } = await world();
    const done = { name: "Package lists", result: "passed", message: "apt-get update" } as const;
    const running = { name: "Packages", result: "running", message: "apt-get install" } as const;
    const ended = async (status: "finished" | "failed", error: string | null, steps?: readonly JobStep[]) => {
      const [job] = await stores.jobs.request([validation(server)]);
      const claimed = await jobs.claim(["server.validate"], [server.id], hold("a"));
      if (!job || !claimed) throw new Error("No job.");
      if (steps !== undefined) await jobs.writeSteps(claimed.lease, steps);
      await jobs.finish(claimed.lease, status, error);
      return (await find(job)).steps;
    };
    expect(await ended("failed", "No\0 way.", [done, running])).toEqual([
      done,
      { ...running, result: "failed", message: "No\uFFFD way." },
    ]);
    expect(await ended("failed", null, [running, done])).toEqual([{ ...running, result: "failed" }, done]);
    expect(await ended("failed", "No way.", [])).toEqual([]);
    expect(await ended("failed", "No way.")).toBeNull();
    expect(await ended("finished", null, [done])).toEqual([done]);
  });

  it("shows a removal under way by its subject, and ends with the row", async () => {
    const { stores, application, jobs, find } = await world();
    const [job] = await stores.jobs.request([removal(application)]);
    if (job === undefined) throw new Error("No job.");
    const subject = { type: "resource.delete", subject_id: application.id } as const;
    await jobs.begin(subject);
    await jobs.begin(subject);
    expect(await find(job)).toMatchObject({ status: "in_progress", attempts: 1 });
    await jobs.note(subject, "It does not answer.");
    await jobs.begin(subject);
    expect(await find(job)).toMatchObject({ attempts: 2, error: "It does not answer." });
    await database().system.resources.delete(application.id);
    expect(await find(job)).toMatchObject({ status: "finished", error: null });
    await jobs.begin(subject);
    expect(await find(job)).toMatchObject({ status: "finished", attempts: 2 });
    const events = (await stores.events.list({})).map(({ type }) => type).filter((type) => type.startsWith("job."));
    expect(events).toEqual(["job.queued", "job.in_progress", "job.finished"]);
  });

  it("lists the newest first, by status, type and subject, with exact totals", async () => {
    const { stores, server, application, jobs } = await world();
    await stores.jobs.request([removal(application)]);
    await stores.jobs.request([validation(server)]);
    await jobs.claim(["server.validate"], [server.id], hold("a"));
    const types = async (...query: Parameters<typeof stores.jobs.list>) => {
      const { items, total } = await stores.jobs.list(...query);
      return [items.map(({ type }) => type), total];
    };
    expect(await types({})).toEqual([["server.validate", "resource.delete"], 2]);
    expect(await types({}, { skip: 1, take: 1 })).toEqual([["resource.delete"], 2]);
    expect(await types({ status: "in_progress" })).toEqual([["server.validate"], 1]);
    expect(await types({ type: "resource.delete", status: "in_progress" })).toEqual([[], 0]);
    expect(await types({ subject: application.uuid })).toEqual([["resource.delete"], 1]);
  });

  it("forgets what ended long ago, and nothing else", async () => {
    const { stores, server, application, jobs, find } = await world();
    const [old] = await stores.jobs.request([removal(application)]);
    const [active] = await stores.jobs.request([validation(server)]);
    if (!old || !active) throw new Error("No jobs.");
    await database().system.resources.delete(application.id);
    await sql`update job set created_at = now() - interval '9 days', finished_at = finished_at - interval '9 days'
      where team_id = ${old.team_id}`.execute(database().database.kysely);
    await jobs.prune(10);
    expect(await find(old)).toMatchObject({ status: "finished" });
    await jobs.prune(8);
    expect(await stores.jobs.find(old.uuid)).toBeUndefined();
    expect(await find(active)).toMatchObject({ status: "queued" });
  });
});
