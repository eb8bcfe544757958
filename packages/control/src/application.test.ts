import { type DomainError, isDomainError } from "@berth/core";
import { liveKeyOf } from "@berth/core/deploy";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { printingEngine, testApplication, testPlace, testServer } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, secondDestination, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

async function refusal(work: Promise<unknown>): Promise<DomainError> {
  try {
    await work;
  } catch (error) {
    if (isDomainError(error)) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

const count = async () => (await at.own.applications.list({})).total;

describe("creating an application", () => {
  test("keeps what was sent, generates a name and a URL, and is not deployed by itself", async () => {
    const { uuid, fqdn } = await at.own.applications.createPublic(gitApplication(at, { start_command: "node ." }));
    const made = await at.own.applications.get(uuid);
    expect(made.name).toMatch(/^hello-main-[a-z0-9]{8}$/);
    expect([made.fqdn, fqdn]).toEqual([`http://${made.name}.localhost`, `http://${made.name}.localhost`]);
    expect(made).toMatchObject({
      urls: [`http://${made.name}.localhost:8000`],
      source: "git",
      status: "exited:unhealthy",
      build_pack: "nixpacks",
      git_repository: "https://git.example/team/hello.git",
      git_branch: "main",
      git_commit_sha: "HEAD",
      start_command: "node .",
      install_command: null,
      environment_name: "production",
      server_uuid: at.place.server.uuid,
      server_status: true,
      settings: { is_auto_deploy_enabled: true, is_static: false },
    });
    expect((await at.own.deployments.listByResource({ kind: "application", uuid }, {})).total).toBe(0);
  });

  test("with HEAD for its branch gets the name of the repository's default branch", async () => {
    const { uuid } = await at.own.applications.createPublic(gitApplication(at, { git_branch: "HEAD" }));
    expect(await at.own.applications.get(uuid)).toMatchObject({
      git_branch: "trunk",
      name: expect.stringMatching(/^hello-trunk-/),
    });
  });

  test("[S07] takes the name as its URL while that is free, then the name with a part of the uuid", async () => {
    const first = await at.own.applications.createPublic(gitApplication(at, { name: "Shop" }));
    const second = await at.own.applications.createPublic(gitApplication(at, { name: "Shop" }));
    const third = await at.otherTeam.control.applications.createPublic(gitApplication(at.otherTeam, { name: "Shop" }));
    expect(first.fqdn).toBe("http://shop.localhost");
    expect(second.fqdn).toBe(`http://shop-${second.uuid.slice(0, 6)}.localhost`);
    expect(third.fqdn).toBe(`http://shop-${third.uuid.slice(0, 6)}.localhost`);
  });

  test("refuses https where the server has no certificates, with the remedy, and makes no such URL by itself", async () => {
    const plain = await world({ servesHttps: () => false });
    const { wildcard_domain: _, ...settings } = plain.place.server.settings;
    await plain.stores.servers.update(plain.place.server.uuid, {
      settings: { ...settings, wildcard_domain: "https://apps.example" },
    });
    const made = await plain.own.applications.createPublic(gitApplication(plain, { name: "Shop" }));
    expect(made.fqdn).toMatch(/^http:\/\/\w+\.apps\.example$/);
    const domains = "http://shop.example,https://pay.example";
    const creation = await refusal(plain.own.applications.createPublic(gitApplication(plain, { domains })));
    const change = await refusal(plain.own.applications.update(made.uuid, { domains }));
    const sentence = /^https:\/\/pay\.example cannot be served: .*no certificates.*Docker/;
    for (const { code, fields } of [creation, change])
      expect([code, fields]).toEqual(["request.invalid", { domains: [expect.stringMatching(sentence)] }]);
    expect((await plain.own.applications.get(made.uuid)).fqdn).toBe(made.fqdn);
    await plain.own.applications.update(made.uuid, { domains: "http://shop.example" });
    expect((await plain.own.applications.get(made.uuid)).fqdn).toBe("http://shop.example");
    await plain.db.close();
  });

  test("gives no URL when none is wanted", async () => {
    const made = await at.own.applications.createPublic(gitApplication(at, { autogenerate_domain: false }));
    expect(made.fqdn).toBeNull();
  });

  test("gives every one of many at once with one name a URL of its own", async () => {
    const made = await Promise.all(
      Array.from({ length: 12 }, () => at.own.applications.createPublic(gitApplication(at, { name: "Crowd" }))),
    );
    const urls = made.map(({ fqdn }) => fqdn);
    expect(new Set(urls).size).toBe(12);
    expect(urls.filter((url) => url === "http://crowd.localhost")).toHaveLength(1);
  });

  test("[S44] needs a name or an identifier of the environment", async () => {
    const { environment_name: _, ...nowhere } = gitApplication(at);
    const error = await refusal(at.own.applications.createPublic(nowhere));
    const text = "You need to provide at least one of environment_name or environment_uuid.";
    expect(error.fields).toEqual({ environment_name: [text], environment_uuid: [text] });
  });

  test("[S27] looks for the environment by name first, then by its identifier", async () => {
    const { uuid } = at.place.environment;
    const byUuid = await at.own.applications.createPublic(
      gitApplication(at, { environment_name: "no such", environment_uuid: uuid }),
    );
    expect((await at.own.applications.get(byUuid.uuid)).environment_uuid).toBe(uuid);
    const byOther = gitApplication(at, { environment_name: "production", environment_uuid: "no such" });
    await at.own.applications.createPublic(byOther);
    const neither = gitApplication(at, { environment_name: "no such" });
    expect((await refusal(at.own.applications.createPublic(neither))).message).toBe("Environment not found.");
  });

  test("[S67] finds nothing of another team's, and makes nothing there", async () => {
    const before = await count();
    const { where } = at.otherTeam;
    const asked = [
      [{ project_uuid: where.project_uuid }, "Project not found."],
      [{ server_uuid: where.server_uuid }, "Server not found."],
    ] as const;
    for (const [fields, message] of asked) {
      expect((await refusal(at.own.applications.createPublic(gitApplication(at, fields)))).message).toBe(message);
    }
    expect(await count()).toBe(before);
  });

  test("names all wrong fields at once and makes nothing", async () => {
    const before = await count();
    const wrong = gitApplication(at, { git_repository: "nowhere", git_branch: "a..b", limits_memory: "lots" });
    const { code, fields } = await refusal(at.own.applications.createPublic(wrong));
    expect([code, Object.keys(fields ?? {}).sort()]).toEqual([
      "request.invalid",
      ["git_branch", "git_repository", "limits_memory"],
    ]);
    expect(await count()).toBe(before);
  });

  test.each(["dockerfile", "dockercompose"] as const)(
    "refuses %s where the engine cannot build it",
    async (build_pack) => {
      const error = await refusal(at.own.applications.createPublic(gitApplication(at, { build_pack })));
      expect([error.code, error.category]).toEqual(["engine.unsupported", "invalid"]);
      expect(error.message).toContain(`cannot build with ${build_pack}`);
      expect(error.message).toContain("nixpacks, railpack, static");
    },
  );

  test("of a compose file keeps whether it shall have no URLs, which its first deployment asks", async () => {
    const builds = await world({ engineFor: () => printingEngine({ build_packs: ["dockercompose"] }) });
    const domainsOf = async (sent: object) => {
      const made = gitApplication(builds, { build_pack: "dockercompose", ...sent });
      const { uuid } = await builds.own.applications.createPublic(made);
      return (await builds.own.applications.get(uuid)).docker_compose_domains;
    };
    expect(await domainsOf({ autogenerate_domain: false })).toBe("{}");
    expect([await domainsOf({}), await domainsOf({ autogenerate_domain: true })]).toEqual([null, null]);
  });

  test("from a Dockerfile is refused by an engine without Docker", async () => {
    const error = await refusal(at.own.applications.createDockerfile({ ...at.where, dockerfile: "FROM scratch" }));
    expect(error.code).toBe("engine.unsupported");
  });

  test("hides secrets from those who may not read them, in every answer", async () => {
    const { uuid } = await at.own.applications.createPublic(
      gitApplication(at, {
        is_http_basic_auth_enabled: true,
        http_basic_auth_username: "u",
        http_basic_auth_password: "very secret",
        manual_webhook_secret_github: "also secret",
        custom_labels: "label=hidden",
      }),
    );
    const reader = at.as(at.place.server.team_id, "read");
    const answers = [await reader.applications.get(uuid), (await reader.applications.list({})).items];
    expect(JSON.stringify(answers)).not.toMatch(/very secret|also secret|label=hidden/);
    expect(answers[0]).not.toHaveProperty("http_basic_auth_password");
    expect(await at.own.applications.get(uuid)).toMatchObject({
      http_basic_auth_password: "very secret",
      manual_webhook_secret_github: "also secret",
      custom_labels: "label=hidden",
    });
  });

  test("may read a folder of this machine only for the server on this machine, and only as its operator", async () => {
    const fields = { git_repository: "file:///srv/repository.git" };
    const codes = [];
    for (const tenant of [at.own, at.as(at.place.server.team_id, "root")]) {
      codes.push((await refusal(tenant.applications.createPublic(gitApplication(at, fields)))).code);
    }
    expect(codes).toEqual(["auth.missing_ability", "auth.root_team_only"]);

    const stores = at.db.stores(ROOT_TEAM_ID);
    const { project, environment, server } = await testPlace(stores);
    const where = { project_uuid: project.uuid, environment_name: environment.name, server_uuid: server.uuid };
    const { applications } = at.as(ROOT_TEAM_ID, "root");
    await applications.createPublic(gitApplication({ where }, fields));
    await stores.servers.update(server.uuid, { ip: "203.0.113.9" });
    const error = await refusal(applications.createPublic(gitApplication({ where }, fields)));
    expect(Object.keys(error.fields ?? {})).toEqual(["git_repository"]);
  });
});

describe("where an application runs", () => {
  test("is asked for when the server has several destinations", async () => {
    const world = at.otherTeam;
    const stores = at.db.stores(world.id);
    const server = await stores.servers.find(world.where.server_uuid);
    if (server === undefined) throw new Error("The server is there.");
    const second = await secondDestination(stores, server);
    const error = await refusal(world.control.applications.createPublic(gitApplication(world)));
    expect([error.code, error.category]).toEqual(["destination.ambiguous", "bad_request"]);
    expect(error.message).toMatch(/multiple destinations.*destination_uuid/);
    const wrong = gitApplication(world, { destination_uuid: "no such" });
    expect(Object.keys((await refusal(world.control.applications.createPublic(wrong))).fields ?? {})).toEqual([
      "destination_uuid",
    ]);
    const { uuid } = await world.control.applications.createPublic(
      gitApplication(world, { destination_uuid: second.uuid }),
    );
    expect((await world.control.applications.get(uuid)).destination.uuid).toBe(second.uuid);
  });
});

describe("URLs", () => {
  test("[S45] that a resource of the team holds are refused, and taken over by force", async () => {
    const domains = "https://one.example,https://both.example/path";
    const first = await at.own.applications.createPublic(gitApplication(at, { name: "First", domains }));
    const asked = gitApplication(at, { domains: "http://both.example/path/, http://two.example" });
    const error = await refusal(at.own.applications.createPublic(asked));
    expect(error).toMatchObject({
      code: "domain.conflict",
      message: "Domain conflicts detected. Use force_domain_override=true to proceed.",
      details: {
        conflicts: [{ domain: "both.example/path", resource_name: "First", resource_uuid: first.uuid }],
        warning: expect.any(String),
      },
    });
    const second = await at.own.applications.createPublic({ ...asked, force_domain_override: true });
    expect(second.fqdn).toBe("http://both.example/path/,http://two.example");
    expect(second.overridden).toMatchObject([{ resource_uuid: first.uuid }]);
    expect((await at.own.applications.get(first.uuid)).fqdn).toBe("https://one.example");
  });

  test("of another team are never taken over or named", async () => {
    await at.otherTeam.control.applications.createPublic(
      gitApplication(at.otherTeam, {
        name: "Hidden",
        domains: "http://foreign.example",
        destination_uuid: (await at.db.stores(at.otherTeam.id).destinations.list({})).items[0]?.uuid ?? null,
      }),
    );
    const asked = gitApplication(at, { domains: "http://foreign.example", force_domain_override: true });
    const error = await refusal(at.own.applications.createPublic(asked));
    expect(error.code).toBe("domain.conflict");
    expect(JSON.stringify([error.message, error.details])).not.toMatch(/Hidden/);
  });

  test("of the instance itself are never given away", async () => {
    const asked = gitApplication(at, { domains: "https://berth.example/", force_domain_override: true });
    expect((await refusal(at.own.applications.createPublic(asked))).details).toMatchObject({
      conflicts: [{ resource_type: "instance", resource_uuid: null }],
    });
  });

  test("that two ask for at once have one holder", async () => {
    for (let round = 0; round < 5; round++) {
      const domains = `http://race${round}.example`;
      const asked = Array.from({ length: 6 }, () => at.own.applications.createPublic(gitApplication(at, { domains })));
      const results = await Promise.allSettled(asked);
      const lost = results.filter((result) => result.status === "rejected").map(({ reason }) => reason);
      expect(lost).toHaveLength(5);
      for (const error of lost) {
        expect(error).toMatchObject({ code: "domain.conflict", details: { conflicts: [expect.anything()] } });
      }
    }
  });

  test("that are wrong are told one by one", async () => {
    const error = await refusal(
      at.own.applications.createPublic(gitApplication(at, { domains: "nope,ftp://x.example" })),
    );
    expect(error.fields).toEqual({
      domains: [
        "Invalid URL: nope",
        "Invalid URL scheme: ftp for URL: ftp://x.example. Only http and https are supported.",
      ],
    });
  });
});

describe("changing an application", () => {
  const made = async (fields = {}) =>
    (await at.own.applications.createPublic(gitApplication(at, { ...fields, autogenerate_domain: false }))).uuid;

  test("changes what was sent and nothing else", async () => {
    const uuid = await made({ name: "Before", build_command: "make", domains: "http://stays.example" });
    expect(await at.own.applications.update(uuid, { name: "After", build_command: null })).toEqual({ uuid });
    expect(await at.own.applications.get(uuid)).toMatchObject({
      name: "After",
      build_command: null,
      git_branch: "main",
      fqdn: "http://stays.example",
    });
  });

  test("moves, keeps and clears its URLs", async () => {
    const uuid = await made({ domains: "http://old.example" });
    await at.own.applications.update(uuid, { domains: "http://old.example,http://new.example" });
    expect((await at.own.applications.get(uuid)).fqdn).toBe("http://old.example,http://new.example");
    await at.own.applications.update(uuid, { domains: null });
    expect((await at.own.applications.get(uuid)).fqdn).toBeNull();
    expect(await made({ domains: "http://old.example" })).toBeTruthy();
  });

  test("gives containers of a compose file URLs of their own, and takes them away with it", async () => {
    const { uuid, id } = await testApplication(at.stores, at.place, { settings: { build_pack: "dockercompose" } });
    const urlsOf = async () =>
      (await at.db.system.resources.routing(liveKeyOf({ id, server_id: at.place.server.id })))?.domains?.map(
        ({ url, container }) => [container ?? null, url],
      );
    const docker_compose_domains = [
      { name: "web", domain: "http://web.example,http://web.example:81/x" },
      { name: "api", domain: "http://api.example:3000" },
    ];
    await at.own.applications.update(uuid, { docker_compose_domains });
    expect(await urlsOf()).toEqual([
      ["web", "http://web.example"],
      ["web", "http://web.example:81/x"],
      ["api", "http://api.example:3000"],
    ]);
    expect(JSON.parse((await at.own.applications.get(uuid)).docker_compose_domains ?? "")).toEqual({
      web: { domain: docker_compose_domains[0]?.domain },
      api: { domain: docker_compose_domains[1]?.domain },
    });
    const twice = [...docker_compose_domains, { name: "more", domain: "https://API.example, nonsense" }];
    const refused = await refusal(at.own.applications.update(uuid, { docker_compose_domains: twice }));
    expect(refused.fields).toEqual({
      docker_compose_domains: ["Invalid URL: nonsense", "The URL https://api.example is listed twice."],
    });
    await at.own.applications.update(uuid, { docker_compose_domains: twice.slice(0, 1) });
    expect(await urlsOf()).toHaveLength(2);
    await at.own.applications.update(uuid, { build_pack: "nixpacks" });
    expect(await urlsOf()).toEqual([]);
  });

  test("leaves out URLs of containers that the compose file lacks, once a deployment has read it", async () => {
    const settings = { build_pack: "dockercompose" } as const;
    const { uuid, id } = await testApplication(at.stores, at.place, { settings });
    const host = `${uuid}.example`;
    const docker_compose_domains = [
      { name: "web", domain: `http://${host}` },
      { name: "gone", domain: `http://gone.${host}` },
    ];
    expect(await at.own.applications.update(uuid, { docker_compose_domains })).toEqual({ uuid });
    const { deployments = [] } = await at.own.deploy({ uuid, force: true });
    const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
    if (claim === undefined) throw new Error("No deployment waits.");
    const compose = "services: { web: { image: a } }";
    const artifact = { type: "stack", compose, images: {}, files: [] } as const;
    const built_by = deployments[0]?.deployment_uuid ?? "";
    await at.db.system.releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by });
    await at.db.system.releases.promote(claim.lease);
    await at.db.system.deployments.finish(claim.lease, "finished", null);
    const answer = await at.own.applications.update(uuid, { docker_compose_domains });
    expect(answer).toEqual({ uuid, message: "The compose file has no service gone: its domains were left out." });
    expect(
      (await at.db.system.resources.routing(liveKeyOf({ id, server_id: at.place.server.id })))?.domains?.map(
        ({ container }) => container,
      ),
    ).toEqual(["web"]);
    expect(JSON.parse((await at.own.applications.get(uuid)).docker_compose_domains ?? "")).toEqual({
      web: { domain: `http://${host}` },
    });
  });

  test.each([
    [{ proxy_type: "NONE" }, true],
    [{ settings: { is_build_server: true } }, true],
    [{ proxy_type: "caddy" }, false],
  ])("keeps URLs where nothing leads them on: %j", async (change, areKept) => {
    const place = { ...at.place, ...(await testServer(at.stores)) };
    const { uuid } = await testApplication(at.stores, place);
    await at.own.applications.update(uuid, { domains: `http://${uuid}.example` });
    await at.stores.servers.update(place.server.uuid, { engine: "docker", ip: `${uuid}.test`, ...change });
    const answer = await at.own.applications.update(uuid, { domains: `http://new-${uuid}.example` });
    expect(answer.message).toEqual(areKept ? expect.stringContaining("has no proxy") : undefined);
    const { fqdn } = await at.own.applications.get(uuid);
    expect(fqdn).toBe(`http://${areKept ? "" : "new-"}${uuid}.example`);
  });

  test("is refused as a whole when its URLs are taken", async () => {
    await made({ domains: "http://taken.example" });
    const uuid = await made({ name: "Kept" });
    const change = at.own.applications.update(uuid, { name: "Lost", domains: "http://taken.example" });
    expect((await refusal(change)).code).toBe("domain.conflict");
    expect(await at.own.applications.get(uuid)).toMatchObject({ name: "Kept", fqdn: null });
  });

  test("needs a name and a password for basic authentication, sent or stored", async () => {
    const uuid = await made();
    const error = await refusal(at.own.applications.update(uuid, { is_http_basic_auth_enabled: true }));
    expect(Object.keys(error.fields ?? {})).toEqual(["http_basic_auth_username", "http_basic_auth_password"]);
    await at.own.applications.update(uuid, { http_basic_auth_username: "u", http_basic_auth_password: "p" });
    expect(await at.own.applications.update(uuid, { is_http_basic_auth_enabled: true })).toEqual({ uuid });
  });

  test("to a build pack that the engine lacks is refused", async () => {
    const uuid = await made();
    expect((await refusal(at.own.applications.update(uuid, { build_pack: "dockerfile" }))).code).toBe(
      "engine.unsupported",
    );
    expect((await at.own.applications.get(uuid)).build_pack).toBe("nixpacks");
  });

  test("emits its events, without values", async () => {
    const uuid = await made();
    await at.own.applications.update(uuid, { http_basic_auth_password: "canary-password", name: "Named" });
    const events = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === uuid);
    expect(events.map(({ type }) => type)).toEqual(["resource.created", "resource.updated"]);
    expect(events[1]?.payload).toMatchObject({ fields: ["http_basic_auth_password", "name"] });
    expect(JSON.stringify(events)).not.toContain("canary-password");
  });
});

describe("an application whose source is uploaded", () => {
  async function* archive(bytes: number) {
    yield new Uint8Array(bytes);
  }

  test("deploys the commit that was uploaded last, and nothing before one was", async () => {
    const { uuid } = await at.own.applications.createUpload(at.where);
    const early = await refusal(at.own.deploy({ uuid }));
    expect([early.code, early.category]).toEqual(["source.not_found", "invalid"]);
    const first = await at.own.applications.uploadSource(uuid, archive(10));
    expect(first.size).toBe(10);
    await at.own.deploy({ uuid });
    const second = await at.own.applications.uploadSource(uuid, archive(20));
    await at.own.deploy({ uuid });
    const { items } = await at.own.deployments.listByResource({ kind: "application", uuid }, {});
    expect(items.map(({ commit }) => commit)).toEqual([second.commit, first.commit]);
  });

  test("takes no commit from the request that creates it", async () => {
    const { uuid } = await at.own.applications.createUpload({ ...at.where, git_commit_sha: "abcdef12" });
    expect((await refusal(at.own.deploy({ uuid }))).code).toBe("source.not_found");
  });

  test("is the only kind that takes uploads", async () => {
    const { uuid } = await at.own.applications.createPublic(gitApplication(at));
    expect((await refusal(at.own.applications.uploadSource(uuid, archive(1)))).code).toBe("resource.state");
    expect(at.uploads.has(uuid)).toBe(false);
    expect((await refusal(at.otherTeam.control.applications.uploadSource(uuid, archive(1)))).message).toBe(
      "Application not found.",
    );
  });
});
