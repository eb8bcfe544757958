import { liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, DomainClaim, Stores } from "@berth/core/ports";
import { newDeployment, testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const KEEP = { takeFromOwnTeam: false };
const TAKE = { takeFromOwnTeam: true };
const newClaim = (path = "/"): DomainClaim => {
  const host = `${testUuid()}.test`;
  return { host, path, url: `https://${host}${path === "/" ? "" : path}` };
};
const preview = ({ id }: ApplicationRecord, pullRequestId = 7) => ({ resourceId: id, pullRequestId });

onEachBackend((database) => {
  async function made(): Promise<{ stores: Stores; app: ApplicationRecord; other: ApplicationRecord }> {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place, { name: "shop" });
    return { stores, app, other: await testApplication(stores, place, { name: "other" }) };
  }
  const eventsOf = async (stores: Stores, { uuid }: ApplicationRecord) =>
    (await stores.events.list({}))
      .filter(({ type, resource_uuid }) => type.startsWith("preview.") && resource_uuid === uuid)
      .map(({ type }) => type);

  it("makes a preview once and keeps what is not said again", async () => {
    const { stores, app } = await made();
    const [first, second] = [testUuid(), testUuid()];
    const url = "https://git.example/pulls/7";
    const opened = { pull_request_id: 7, pull_request_html_url: url, git_type: "gitea" };
    expect(await stores.previews.open(app.id, first, opened)).toMatchObject({ uuid: first, ...opened, fqdn: null });
    const again = await stores.previews.open(app.id, second, { pull_request_id: 7, docker_registry_image_tag: "pr-7" });
    expect(again).toMatchObject({ uuid: first, ...opened, docker_registry_image_tag: "pr-7" });
    await stores.previews.open(app.id, second, { pull_request_id: 8 });
    const { items, total } = await stores.previews.list(app.id, { skip: 1, take: 1 });
    expect([items.map(({ pull_request_id }) => pull_request_id), total]).toEqual([[8], 2]);
    expect(await eventsOf(stores, app)).toEqual(["preview.created", "preview.created"]);
  });

  it("makes one that is opened while it is being removed anew at the end of that, and what is queued of it waits", async () => {
    const { stores, app } = await made();
    const { system } = database();
    const opened = await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
    expect(await stores.previews.markRemoving(app.id, 7)).toMatchObject({ resource_id: app.id, pull_request_id: 7 });
    expect(await stores.previews.markRemoving(app.id, 7)).toBeUndefined();
    const again = await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
    expect(again).toMatchObject({ id: opened.id, is_reopened: true, removing_at: expect.any(Date) });
    const [queued] = await stores.deployments.enqueue([newDeployment(app, { pull_request_id: 7 })]);
    const claimed = () => system.deployments.claimNext({ owner: "me", leaseSeconds: 60 }, [app.server_id]);
    expect(await claimed()).toBeUndefined();
    await system.previews.delete(opened.id);
    expect(await stores.previews.find(app.id, 7)).toMatchObject({ is_reopened: false, removing_at: null });
    expect((await claimed())?.deployment.uuid).toBe(queued?.outcome === "queued" ? queued.deployment.uuid : "");
    const types = ["preview.created", "preview.removing", "preview.deleted", "preview.created"];
    expect(await eventsOf(stores, app)).toEqual(types);

    // Closed once more before the end, it goes.
    await stores.previews.markRemoving(app.id, 7);
    await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
    expect(await stores.previews.markRemoving(app.id, 7)).toMatchObject({ is_reopened: false });
    await system.previews.delete(opened.id);
    await system.previews.delete(opened.id);
    expect(await stores.previews.find(app.id, 7)).toBeUndefined();
  });

  it("ends the job of a removal with the preview, and with its application", async () => {
    const { stores, app, other } = await made();
    const { system } = database();
    const removed = async ({ id }: ApplicationRecord) => {
      const opened = await stores.previews.open(id, testUuid(), { pull_request_id: 7 });
      if (opened === undefined) throw new Error("It was opened before.");
      await stores.previews.markRemoving(id, 7);
      const subject = { type: "preview", id: opened.id, uuid: opened.uuid, name: "shop, pull request 7" } as const;
      const [job] = await stores.jobs.request([{ uuid: testUuid(), type: "preview.delete", subject }]);
      const [again] = await stores.jobs.request([{ uuid: testUuid(), type: "preview.delete", subject }]);
      expect(again?.uuid).toBe(job?.uuid);
      return { opened, statusOf: async () => (await stores.jobs.find(job?.uuid ?? ""))?.status };
    };
    const [own, ofOther] = [await removed(app), await removed(other)];
    await system.previews.delete(own.opened.id);
    expect([await own.statusOf(), await ofOther.statusOf()]).toEqual(["finished", "queued"]);
    await system.resources.delete(other.id);
    expect(await ofOther.statusOf()).toBe("finished");
  });

  it("keeps the claims of a preview apart from the application's and frees them with it", async () => {
    const { stores, app } = await made();
    const { system } = database();
    const opened = await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
    const [own, of7] = [newClaim(), newClaim("/cart")];
    await stores.domains.claim(app.id, [own], KEEP);
    await stores.domains.claim(preview(app), [of7], KEEP);
    expect((await stores.applications.find(app.uuid))?.fqdn).toBe(own.url);
    expect((await stores.previews.find(app.id, 7))?.fqdn).toBe(of7.url);
    const routing = async (pullRequestId: number) =>
      (await system.resources.routing(liveKeyOf(app, pullRequestId)))?.domains;
    expect([await routing(0), await routing(7), await routing(8)]).toEqual([[own], [of7], null]);
    const ofServer = (await system.resources.listByServer(app.server_id)).find(({ id }) => id === app.id);
    expect(ofServer?.domains).toEqual([own]);
    expect((await system.previews.find(app.id, 7))?.domains).toEqual([of7]);
    expect(await system.previews.listByResources([app.id])).toMatchObject([{ id: opened?.id, domains: [of7] }]);
    // Changing the application's URLs does not change the preview's.
    await stores.domains.claim(app.id, [], KEEP);
    expect((await stores.previews.find(app.id, 7))?.fqdn).toBe(of7.url);
    await system.previews.delete(opened?.id ?? 0);
    expect(await stores.domains.holders([of7])).toEqual([]);
  });

  it("gives a preview no URL that another holds, its own application included, and no one the preview's", async () => {
    const { stores, app, other } = await made();
    await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
    await stores.previews.open(app.id, testUuid(), { pull_request_id: 8 });
    const [own, of7] = [newClaim(), newClaim()];
    await stores.domains.claim(app.id, [own], KEEP);
    await stores.domains.claim(preview(app), [of7], KEEP);
    await stores.domains.claim(preview(app), [of7], KEEP);
    const conflict = { code: "domain.conflict" };
    await expect(stores.domains.claim(preview(app), [own], KEEP)).rejects.toMatchObject(conflict);
    await expect(stores.domains.claim(preview(app, 8), [of7], KEEP)).rejects.toMatchObject(conflict);
    await expect(stores.domains.claim(other.id, [of7], KEEP)).rejects.toMatchObject({
      ...conflict,
      details: {
        conflicts: [
          {
            resource_uuid: app.uuid,
            message: `Domain ${of7.host} is already in use by the preview of pull request 7 of application 'shop'.`,
          },
        ],
      },
    });
    await stores.domains.claim(other.id, [of7], TAKE);
    expect((await stores.previews.find(app.id, 7))?.fqdn).toBeNull();
  });

  it("reports a change of status, once", async () => {
    const { stores, app } = await made();
    const { previews } = database().system;
    const { id = 0 } = (await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 })) ?? {};
    await previews.setStatus(id, "running:healthy");
    await previews.setStatus(id, "running:healthy");
    const found = await stores.previews.find(app.id, 7);
    expect(found).toMatchObject({ status: "running:healthy", last_online_at: expect.any(Date) });
    expect(await eventsOf(stores, app)).toEqual(["preview.created", "preview.status_changed"]);
  });

  it("goes with its application", async () => {
    const { stores, app } = await made();
    const { system } = database();
    await stores.previews.open(app.id, testUuid(), { pull_request_id: 7 });
    const claim = newClaim();
    await stores.domains.claim(preview(app), [claim], KEEP);
    await system.resources.delete(app.id);
    expect(await system.previews.find(app.id, 7)).toBeUndefined();
    expect(await stores.domains.holders([claim])).toEqual([]);
  });

  it("takes a deployment of another image tag for another deployment", async () => {
    const { stores, app } = await made();
    const wish = (docker_registry_image_tag: string) => ({
      uuid: testUuid(),
      resource_id: app.id,
      server_id: app.server_id,
      destination_id: app.destination_id,
      pull_request_id: 7,
      commit: "HEAD",
      force_rebuild: false,
      restart_only: false,
      keeps_unchanged: false,
      rollback: false,
      rollback_to: null,
      follows: null,
      is_webhook: false,
      is_api: true,
      git_type: null,
      docker_registry_image_tag,
      is_instant: false,
    });
    const outcomes = await stores.deployments.enqueue([wish("one"), wish("two"), wish("two")]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["queued", "queued", "duplicate"]);
    const [first] = outcomes;
    expect(first?.outcome === "queued" && first.deployment.docker_registry_image_tag).toBe("one");
  });
});
