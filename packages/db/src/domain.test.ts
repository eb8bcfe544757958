import { isDomainError } from "@berth/core";
import type { ApplicationRecord, DomainClaim, Stores } from "@berth/core/ports";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const claimOf = (host: string, path = "/"): DomainClaim => ({
  host,
  path,
  url: `https://${host}${path === "/" ? "" : path}`,
});
const newHost = () => `${testUuid()}.test`;
const isConflict = (error: unknown) => isDomainError(error, "domain.conflict");
const KEEP = { takeFromOwnTeam: false };
const TAKE = { takeFromOwnTeam: true };

async function applications(stores: Stores, count: number): Promise<readonly ApplicationRecord[]> {
  const place = await testPlace(stores);
  const made = [];
  for (let index = 0; index < count; index += 1) {
    made.push(await testApplication(stores, place, { name: `app-${index}` }));
  }
  return made;
}
const fqdnOf = async (stores: Stores, { uuid }: { readonly uuid: string }) =>
  (await stores.applications.find(uuid))?.fqdn;

onEachBackend((database) => {
  it("frees the URLs of what is being removed, and of its previews", async () => {
    const stores = await testTeam(database());
    const [leaving, next] = await applications(stores, 2);
    if (leaving === undefined || next === undefined) throw new Error("made above");
    const [own, preview] = [claimOf(newHost()), claimOf(newHost())];
    await stores.domains.claim(leaving.id, [own], KEEP);
    await stores.domains.claim({ resourceId: leaving.id, pullRequestId: 7 }, [preview], KEEP);
    await stores.resources.markRemoving(leaving.id, {});
    expect(await fqdnOf(stores, leaving)).toBeNull();
    await stores.domains.claim(next.id, [own, preview], KEEP);
    expect(await fqdnOf(stores, next)).toBe(`${own.url},${preview.url}`);
    // Its removal takes nothing from the next holder.
    await database().system.resources.delete(leaving.id);
    expect(await fqdnOf(stores, next)).toBe(`${own.url},${preview.url}`);
  });

  it("writes claims and the text that answers carry together, in the given order", async () => {
    const stores = await testTeam(database());
    const [app] = await applications(stores, 1);
    if (app === undefined) throw new Error("made above");
    const [b, a] = [claimOf(`b.${newHost()}`), claimOf(`a.${newHost()}`, "/api")];
    await stores.domains.claim(app.id, [b, a], KEEP);
    expect(await fqdnOf(stores, app)).toBe(`${b.url},${a.url}`);
    await stores.domains.claim(app.id, [a], KEEP);
    expect(await fqdnOf(stores, app)).toBe(a.url);
    expect(await stores.domains.holders([a, b])).toEqual([
      {
        ...a,
        team_id: app.team_id,
        resource_uuid: app.uuid,
        resource_name: "app-0",
        resource_kind: "application",
        pull_request_id: 0,
        container_name: null,
      },
    ]);
    expect(await stores.domains.holders([a, b], app.id)).toEqual([]);
    await stores.domains.claim(app.id, [], KEEP);
    expect(await fqdnOf(stores, app)).toBeNull();
  });

  it("refuses what another application of the team holds, and names it", async () => {
    const stores = await testTeam(database());
    const [holder, other] = await applications(stores, 2);
    if (holder === undefined || other === undefined) throw new Error("made above");
    const [held, free] = [claimOf(newHost()), claimOf(newHost())];
    await stores.domains.claim(holder.id, [held], KEEP);
    const refused = stores.domains.claim(other.id, [free, held], KEEP);
    await expect(refused).rejects.toMatchObject({
      code: "domain.conflict",
      details: { conflicts: [{ resource_uuid: holder.uuid, resource_name: "app-0" }] },
    });
    expect(await fqdnOf(stores, other)).toBeNull();
    expect(await stores.domains.holders([free])).toEqual([]);
  });

  it("holds different paths of one host apart", async () => {
    const stores = await testTeam(database());
    const [one, two] = await applications(stores, 2);
    const host = newHost();
    await stores.domains.claim(one?.id ?? -1, [claimOf(host)], KEEP);
    await stores.domains.claim(two?.id ?? -1, [claimOf(host, "/api")], KEEP);
    expect(await stores.domains.holders([claimOf(host), claimOf(host, "/api")])).toHaveLength(2);
  });

  it("takes a URL from the team's own application, which loses it and keeps its others", async () => {
    const stores = await testTeam(database());
    const [holder, taker] = await applications(stores, 2);
    if (holder === undefined || taker === undefined) throw new Error("made above");
    const [wanted, kept] = [claimOf(newHost()), claimOf(newHost())];
    await stores.domains.claim(holder.id, [wanted, kept], KEEP);
    const { overridden } = await stores.domains.claim(taker.id, [wanted], TAKE);
    expect(overridden).toMatchObject([{ url: wanted.url, resource_uuid: holder.uuid }]);
    expect(await fqdnOf(stores, holder)).toBe(kept.url);
    expect(await fqdnOf(stores, taker)).toBe(wanted.url);
  });

  it("never takes a URL from another team, nor says whose it is", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const [holder] = await applications(one, 1);
    const [taker] = await applications(other, 1);
    const wanted = claimOf(newHost());
    await one.domains.claim(holder?.id ?? -1, [wanted], KEEP);
    const refusal = await other.domains.claim(taker?.id ?? -1, [wanted], TAKE).catch((error: unknown) => error);
    expect(refusal).toSatisfy(isConflict);
    const told = JSON.stringify(isDomainError(refusal) ? [refusal.message, refusal.details] : "");
    expect(told).not.toContain(holder?.uuid);
    expect(told).not.toContain("app-0");
    expect(await fqdnOf(one, holder ?? { uuid: "" })).toBe(wanted.url);
  });

  it("keeps every path of a host for the team that holds one", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const [holder, second] = await applications(one, 2);
    const [taker] = await applications(other, 1);
    const host = newHost();
    await one.domains.claim(holder?.id ?? -1, [claimOf(host)], KEEP);
    const wanted = [claimOf(host, "/login"), claimOf(host, "/logout")];
    await expect(other.domains.claim(taker?.id ?? -1, wanted, TAKE)).rejects.toSatisfy(isConflict);
    expect(await other.domains.holders(wanted)).toMatchObject([{ path: "/", resource_uuid: holder?.uuid }]);
    expect(await one.domains.holders(wanted)).toEqual([]);
    await one.domains.claim(second?.id ?? -1, wanted, KEEP);
  });

  it("gives a host whose paths many teams claim at once to exactly one", async () => {
    const teams = await Promise.all(Array.from({ length: 8 }, () => testTeam(database())));
    const claimers = await Promise.all(teams.map((stores) => applications(stores, 1)));
    const host = newHost();
    const results = await Promise.allSettled(
      teams.map((stores, index) =>
        stores.domains.claim(claimers[index]?.[0]?.id ?? -1, [claimOf(host, `/${index}`)], KEEP),
      ),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason).toSatisfy(isConflict);
  });

  it("gives a URL that many claim at once to exactly one", async () => {
    const stores = await testTeam(database());
    const claimers = await applications(stores, 8);
    const wanted = [claimOf(newHost()), claimOf(newHost())];
    const results = await Promise.allSettled(
      // Half of them in the opposite order, in which two transactions could deadlock.
      claimers.map(({ id }, index) => stores.domains.claim(id, index % 2 === 0 ? wanted : [...wanted].reverse(), KEEP)),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results) if (result.status === "rejected") expect(result.reason).toSatisfy(isConflict);
    expect(await stores.domains.holders(wanted)).toHaveLength(2);
    const fqdns = await Promise.all(claimers.map((claimer) => fqdnOf(stores, claimer)));
    expect(fqdns.filter((fqdn) => fqdn !== null)).toHaveLength(1);
  });

  it("moves a URL through many takers and leaves it with exactly one", async () => {
    const stores = await testTeam(database());
    const takers = await applications(stores, 6);
    const wanted = [claimOf(newHost()), claimOf(newHost())];
    const results = await Promise.allSettled(takers.map(({ id }) => stores.domains.claim(id, wanted, TAKE)));
    for (const result of results) if (result.status === "rejected") throw result.reason;
    const held = await stores.domains.holders(wanted);
    expect(held).toHaveLength(2);
    for (const taker of takers) {
      const own = held.filter(({ resource_uuid }) => resource_uuid === taker.uuid).map(({ url }) => url);
      expect((await fqdnOf(stores, taker)) ?? "").toBe(own.join(","));
    }
  });
});
