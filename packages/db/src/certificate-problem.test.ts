import type { CertificateProblem } from "@berth/core/application";
import type { Stores } from "@berth/core/ports";
import { testApplication, testPlace, testTeam } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const MISSING: CertificateProblem = { reason: "There is none.", is_refused: true };
const ENDING: CertificateProblem = { reason: "It ends.", is_refused: false };

onEachBackend((database) => {
  const store = () => database().system.certificateProblems;
  const claim = async (stores: Stores, id: number, ...urls: readonly string[]) => {
    const claims = urls.map((url) => ({ host: new URL(url).hostname, path: new URL(url).pathname, url }));
    await stores.domains.claim(id, claims, { takeFromOwnTeam: false });
  };
  const running = async (...urls: readonly string[]) => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id, uuid } = await testApplication(stores, place);
    await claim(stores, id, ...urls);
    await stores.resources.setDesiredState(id, "running");
    const shown = async () => {
      const [summary] = await stores.resources.summaries([id]);
      expect((await stores.applications.find(uuid))?.certificate_problem).toEqual(summary?.certificate_problem);
      return summary?.certificate_problem;
    };
    const reported = async () =>
      (await stores.events.list({ after: 0 }))
        .filter(({ type }) => type === "resource.certificate_changed")
        .map(({ payload }) => payload.problem);
    const ownersAt = (...hosts: readonly string[]) => store().owners(place.server.id, hosts);
    return { stores, place, id, uuid, shown, reported, ownersAt, serverId: place.server.id };
  };
  const host = () => `${crypto.randomUUID()}.example.com`;
  const rows = async (resourceId: number) =>
    (await sql`select from certificate_problem where resource_id = ${resourceId}`.execute(database().database.kysely))
      .rows.length;

  it("shows the worst problem of a resource, and reports each change once", async () => {
    const [one, two] = [host(), host()];
    const { id, shown, reported, ownersAt } = await running(`https://${one}`, `https://${two}/path`);
    expect(await shown()).toBeNull();
    await store().record([{ resource_id: id, host: one, problem: ENDING }]);
    await store().record([{ resource_id: id, host: one, problem: ENDING }]);
    expect(await shown()).toEqual(ENDING);
    await store().record([{ resource_id: id, host: two, problem: MISSING }]);
    expect(await shown()).toEqual(MISSING);
    expect(await ownersAt(one, two)).toHaveLength(2);
    expect(await ownersAt(two)).toEqual([{ resource_id: id, host: two, recorded: MISSING, is_on_several: false }]);
    await store().record([{ resource_id: id, host: two, problem: null }]);
    await store().record([{ resource_id: id, host: two, problem: null }]);
    expect(await shown()).toEqual(ENDING);
    expect(await reported()).toEqual([ENDING.reason, MISSING.reason, null]);
  });

  it("finds the resources that should run with an https URL on the server, without previews", async () => {
    const [own, plain] = [host(), host()];
    const { stores, id, serverId, ownersAt } = await running(`https://${own}`, `http://${plain}`);
    const preview = host();
    await stores.domains.claim(
      { resourceId: id, pullRequestId: 7 },
      [{ host: preview, path: "/", url: `https://${preview}` }],
      { takeFromOwnTeam: false },
    );
    expect((await ownersAt(own, plain, preview)).map((one) => one.host)).toEqual([own]);
    expect(await store().owners(serverId + 1000, [own])).toEqual([]);
    await stores.resources.setDesiredState(id, "stopped");
    expect(await ownersAt(own)).toEqual([]);
  });

  it("does not report a resource that is stopped", async () => {
    const own = host();
    const { stores, id, shown } = await running(`https://${own}`);
    await store().record([{ resource_id: id, host: own, problem: MISSING }]);
    await stores.resources.setDesiredState(id, "stopped");
    expect(await shown()).toBeNull();
  });

  it("forgets a problem with its URL, and keeps that of a URL that stays", async () => {
    const [kept, gone] = [host(), host()];
    const { stores, id, shown } = await running(`https://${kept}`, `https://${gone}`);
    await store().record([
      { resource_id: id, host: kept, problem: ENDING },
      { resource_id: id, host: gone, problem: MISSING },
    ]);
    await claim(stores, id, `https://${kept}/other`);
    expect(await shown()).toEqual(ENDING);
    expect(await rows(id)).toBe(1);
    await store().record([{ resource_id: id, host: gone, problem: MISSING }]);
    expect(await rows(id)).toBe(1);
    await claim(stores, id, `http://${kept}`);
    expect(await rows(id)).toBe(0);
  });

  it("forgets a problem with a URL that is removed at the same moment", async () => {
    const { kysely, kind } = database().database;
    if (kind === "pglite") return; // with one connection, nothing can happen at the same moment
    const own = host();
    const { stores, id } = await running(`https://${own}`);
    const problems = [{ resource_id: id, host: own, problem: MISSING }];
    const isWaiting = async () => (await sql`select from pg_locks where not granted`.execute(kysely)).rows.length > 0;
    const { removal } = await database().system.transaction(async (tx) => {
      await tx.certificateProblems.record(problems);
      let hasEnded = false;
      const removal = claim(stores, id).finally(() => {
        hasEnded = true;
      });
      while (!hasEnded && !(await isWaiting())) await sql`select pg_sleep(0.01)`.execute(kysely);
      return { removal };
    });
    await removal;
    expect(await rows(id)).toBe(0);
    await claim(stores, id, `https://${own}`);
    await stores.transaction(async (tx) => {
      await claim(tx, id);
      await store().record(problems);
    });
    expect(await rows(id)).toBe(0);
  });
});
