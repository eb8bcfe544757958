import type { Stores } from "@berth/core/ports";
import { repositoryKey } from "@berth/core/webhook";
import {
  type TestPlace,
  testApplication,
  testGithubApp,
  testPlace,
  testPrivateKey,
  testTeam,
  testUuid,
} from "@berth/testing";
import { sql } from "kysely";
import { beforeEach, describe, expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  let stores: Stores;
  let place: TestPlace;
  beforeEach(async () => {
    stores = await testTeam(database());
    place = await testPlace(stores);
  });

  describe("a GitHub app", () => {
    it("has a uuid of RFC 4122, and secrets that are nowhere in the clear", async () => {
      const app = await testGithubApp(stores);
      expect(app.uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      const { rows } = await sql<{ row: string }>`select github_app::text as row from github_app
        where id = ${app.id}`.execute(database().database.kysely);
      for (const secret of ["client secret", "webhook secret"]) {
        expect(rows[0]?.row).not.toContain(Buffer.from(secret).toString("hex"));
        expect(JSON.stringify(app)).not.toContain(secret);
      }
    });

    it("keeps the secret that a change does not name", async () => {
      const app = await testGithubApp(stores, { app_id: 99 });
      await stores.githubApps.update(app.id, { name: "Other" }, { client_secret: "new" });
      expect(await database().system.webhooks.githubApps(99)).toEqual([
        { id: app.id, webhook_secret: "webhook secret" },
      ]);
      await stores.githubApps.update(app.id, {}, { webhook_secret: "newer" });
      expect(await database().system.webhooks.githubApps(99)).toEqual([{ id: app.id, webhook_secret: "newer" }]);
      expect((await stores.githubApps.find(app.id))?.name).toBe("Other");
    });

    it("is not deleted while applications get their code through it", async () => {
      const app = await testGithubApp(stores);
      const made = await testApplication(stores, place, { github_app: { id: app.id, repository_id: 7 } });
      expect(made.github_app).toEqual({ id: app.id, html_url: "https://github.test", repository_id: 7 });
      expect(await stores.githubApps.deleteIfUnused(app.id)).toBe("used");
      await database().system.resources.delete(made.id);
      expect(await stores.githubApps.deleteIfUnused(app.id)).toBe("deleted");
      expect(await stores.githubApps.deleteIfUnused(app.id)).toBe("missing");
    });

    it("is free as soon as its last application is being removed", async () => {
      const app = await testGithubApp(stores);
      const made = await testApplication(stores, place, { github_app: { id: app.id, repository_id: 7 } });
      await stores.resources.markRemoving(made.id, {});
      expect(await stores.githubApps.deleteIfUnused(app.id)).toBe("deleted");
    });

    it("keeps its key from being deleted", async () => {
      const key = await testPrivateKey(stores);
      const app = await testGithubApp(stores, { private_key_id: key.id });
      expect(await stores.privateKeys.users(key.id)).toEqual([
        { kind: "GitHub app", uuid: app.uuid, name: app.name, isRemoving: false },
      ]);
      expect((await stores.privateKeys.find(key.uuid))?.is_git_related).toBe(true);
      await expect(stores.privateKeys.delete(key.uuid)).rejects.toMatchObject({ code: "private_key.in_use" });
    });

    it("gives an application another repository, and none to an application without it", async () => {
      const app = await testGithubApp(stores);
      const own = await testApplication(stores, place, { github_app: { id: app.id, repository_id: 7 } });
      const changed = await stores.applications.update(own.id, { github_repository_id: 8 });
      expect(changed?.github_app?.repository_id).toBe(8);
      const other = await testApplication(stores, place);
      expect((await stores.applications.update(other.id, { github_repository_id: 8 }))?.github_app).toBeNull();
    });

    it("goes with its team, and all that it was used for", async () => {
      const app = await testGithubApp(stores);
      await testApplication(stores, place, { github_app: { id: app.id, repository_id: 7 } });
      await sql`delete from team where id = ${app.team_id}`.execute(database().database.kysely);
      expect(await stores.githubApps.find(app.id)).toBeUndefined();
    });

    it("of another team is none to make an application with", async () => {
      const theirs = await testGithubApp(await testTeam(database()));
      const made = testApplication(stores, place, { github_app: { id: theirs.id, repository_id: 7 } });
      await expect(made).rejects.toMatchObject({ code: "resource.not_found" });
    });
  });

  describe("what a delivery concerns", () => {
    const unique = () => `team-${testUuid()}/hello`;
    const made = (git_repository: string, more: Parameters<typeof testApplication>[2] = {}) =>
      testApplication(stores, place, { ...more, settings: { git_repository, ...more.settings } });

    it("are applications of the repository in all teams, with their secrets", async () => {
      const name = unique();
      const own = await made(`https://git.example/${name}.git`);
      const otherStores = await testTeam(database());
      const other = await testApplication(otherStores, await testPlace(otherStores), {
        settings: { git_repository: `git@git.example:${name.toUpperCase()}.git` },
      });
      await made(`https://git.example/${name}-else`);
      await otherStores.applications.update(other.id, { secrets: { manual_webhook_secret_github: "hush" } });
      const found = await database().system.webhooks.applicationsByRepository([name, "x/y"]);
      expect(found.map(({ application, secrets }) => [application.uuid, secrets.manual_webhook_secret_github])).toEqual(
        [
          [own.uuid, null],
          [other.uuid, "hush"],
        ],
      );
    });

    it("are read with the settings that decide about a delivery, not with those that may be large", async () => {
      const name = unique();
      const settings = { git_branch: "release", custom_labels: "x".repeat(1000), watch_paths: "src/**" };
      await made(`https://git.example/${name}`, { settings });
      const [found] = await database().system.webhooks.applicationsByRepository([name]);
      expect(found?.application.settings).toMatchObject({ git_branch: "release", watch_paths: "src/**" });
      expect(JSON.stringify(found)).not.toContain("xxx");
    });

    it("follow a change of the repository", async () => {
      const [before, after] = [unique(), unique()];
      const { id, uuid } = await made(`https://git.example/${before}`);
      await stores.applications.update(id, { settings: { git_repository: `https://git.example/${after}` } });
      const { webhooks } = database().system;
      expect(await webhooks.applicationsByRepository([before])).toEqual([]);
      const found = await webhooks.applicationsByRepository([after]);
      expect(found.map(({ application }) => application.uuid)).toEqual([uuid]);
    });

    it("are no applications that are being removed, nor such of a GitHub app, nor uploads", async () => {
      const name = unique();
      const { webhooks } = database().system;
      const app = await testGithubApp(stores);
      await made(name, { github_app: { id: app.id, repository_id: 7 } });
      await made(`https://git.example/${name}`, { source: "upload" });
      const gone = await made(`https://git.example/${name}`);
      await stores.resources.markRemoving(gone.id, { delete_volumes: false });
      expect(await webhooks.applicationsByRepository([name])).toEqual([]);
    });

    it("are those of the app and the repository's number, whatever it is called", async () => {
      const { webhooks } = database().system;
      const [app, otherApp] = [await testGithubApp(stores), await testGithubApp(stores)];
      const own = await made("old/name", { github_app: { id: app.id, repository_id: 7 } });
      await made("old/name", { github_app: { id: app.id, repository_id: 8 } });
      await made("old/name", { github_app: { id: otherApp.id, repository_id: 7 } });
      const found = await webhooks.applicationsByGithubApp([app.id], 7);
      expect(found.map(({ uuid }) => uuid)).toEqual([own.uuid]);
    });

    it("are found by an address of any length and script", async () => {
      const letters = Array.from({ length: 1900 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000)));
      const { uuid } = await made(`https://git.example/${letters.join("")}`);
      const found = await database().system.webhooks.applicationsByRepository([letters.join("")]);
      expect(found.map(({ application }) => application.uuid)).toEqual([uuid]);
    });

    it("is found by the very key that core makes", async () => {
      const { id } = await made("");
      const beginnings = [
        "",
        "https://Git.example:3000/",
        "HTTP://user@h/",
        "git@h:",
        "ssh://git@h:2222/",
        "file:///",
        "x:",
      ];
      const paths = ["", "/", "A/b", "a/b.git", "a/b.GIT/", "//a/sub/b//", "a.git/b", ".git", "a@b:c/d", "a/b.gitx"];
      for (const git_repository of beginnings.flatMap((beginning) => paths.map((path) => `${beginning}${path}`))) {
        await stores.applications.update(id, { settings: { git_repository } });
        const { rows } = await sql<{ repository_key: string }>`select repository_key from application
          where resource_id = ${id}`.execute(database().database.kysely);
        expect(rows[0]?.repository_key, git_repository).toBe(repositoryKey(git_repository));
      }
    });
  });

  describe("a delivery", () => {
    const answer = [{ status: "queued", message: "Deployment queued." }] as const;
    const delivery = () => ({ provider: "github", owner: "application 1", id: testUuid() }) as const;

    it("is answered as it was the first time", async () => {
      const { system } = database();
      const one = delivery();
      const answered = () =>
        system.transaction(async ({ webhooks }) => {
          const earlier = await webhooks.begin(one);
          if (earlier !== undefined) return earlier;
          await webhooks.remember(one, answer);
          return undefined;
        });
      expect(await answered()).toBeUndefined();
      expect(await answered()).toEqual(answer);
      expect(await system.webhooks.begin({ ...one, owner: "application 2" })).toBeUndefined();
    });

    it("that came to nothing is new when it comes again", async () => {
      const { system } = database();
      const one = delivery();
      const failing = system.transaction(async ({ webhooks }) => {
        await webhooks.begin(one);
        throw new Error("The queue is full");
      });
      await expect(failing).rejects.toThrow("The queue is full");
      expect(await system.webhooks.begin(one)).toBeUndefined();
    });

    it("is forgotten after a week", async () => {
      const { system } = database();
      const [old, fresh] = [delivery(), delivery()];
      await system.webhooks.begin(old);
      await sql`update webhook_delivery set created_at = now() - interval '8 days'
        where delivery_id = ${old.id}`.execute(database().database.kysely);
      await system.webhooks.begin(fresh);
      const { rows } = await sql<{ delivery_id: string }>`select delivery_id from webhook_delivery
        where delivery_id in (${old.id}, ${fresh.id})`.execute(database().database.kysely);
      expect(rows).toEqual([{ delivery_id: fresh.id }]);
    });
  });
});
