import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { asOtherTeam, createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
let environment: string;
beforeAll(async () => {
  api = await served();
});
beforeEach(async () => {
  const { json } = await api.ask("POST", `/projects/${api.where.project_uuid}/environments`, {
    body: { name: `e${Math.random()}` },
  });
  environment = `/projects/${api.where.project_uuid}/environments/${json.uuid}/shared-variables`;
});
afterAll(() => api.close());

const ownersOf = ({ where }: Served) => ({
  team: "/teams/current",
  project: `/projects/${where.project_uuid}`,
  environment: `/projects/${where.project_uuid}/environments/${where.environment_name}`,
  server: `/servers/${where.server_uuid}`,
});

describe("shared variables", () => {
  test.each(["team", "project", "environment", "server"] as const)(
    "of a %s are created, listed, changed by key and deleted",
    async (scope) => {
      const path = `${ownersOf(api)[scope]}/shared-variables`;
      const created = await api.ask("POST", path, { body: { key: "A", value: " 1 ", comment: "why" } });
      expect([created.status, created.json]).toEqual([
        201,
        expect.objectContaining({ key: "A", value: " 1 ", reference: `{{ ${scope}.A }}`, comment: "why" }),
      ]);
      const changed = await api.ask("PATCH", path, { body: { key: "A", value: "" } });
      expect([changed.status, changed.json.value, changed.json.comment]).toEqual([200, "", "why"]);
      const bulk = await api.ask("PATCH", `${path}/bulk`, { body: { data: [{ key: "A", value: "2" }, { key: "B" }] } });
      expect([bulk.status, bulk.json.map(({ value }: { value: string | null }) => value)]).toEqual([200, ["2", null]]);
      const listed = await api.ask("GET", `${path}?take=1`);
      expect([listed.json.length, listed.headers["x-total-count"]]).toEqual([1, "2"]);
      const deleted = await api.ask("DELETE", `${path}/${created.json.uuid}`);
      expect([deleted.status, deleted.json]).toEqual([200, { message: "Shared variable deleted." }]);
      const again = await api.ask("DELETE", `${path}/${created.json.uuid}`);
      expect([again.status, again.json.message]).toEqual([404, "Shared variable not found."]);
    },
  );

  test("answer 409 to a key that is there, 404 to one that is not, and 422 to what they do not have", async () => {
    await api.ask("POST", environment, { body: { key: "A", value: "1" } });
    const again = await api.ask("POST", environment, { body: { key: "A", value: "2" } });
    const sentence = "Shared variable already exists. Use PATCH request to update it.";
    expect([again.status, again.json.message]).toEqual([409, sentence]);
    const missing = await api.ask("PATCH", environment, { body: { key: "B" } });
    expect([missing.status, missing.json.message]).toEqual([404, "Shared variable not found."]);
    // In the path of the current team no object can be missing, only the variable.
    const ofTeam = await api.ask("PATCH", "/teams/current/shared-variables", { body: { key: "NOWHERE" } });
    expect([ofTeam.status, ofTeam.json.message]).toEqual([404, "Shared variable not found."]);
    const data = [{ key: "C", value: "1" }, { key: "D", is_buildtime: true }, { key: "1E" }];
    const bulk = await api.ask("PATCH", `${environment}/bulk`, { body: { data } });
    expect([bulk.status, Object.keys(bulk.json.errors).sort()]).toEqual([422, ["data.1.is_buildtime", "data.2.key"]]);
    expect((await api.ask("GET", environment)).json).toMatchObject([{ key: "A", value: "1" }]);
  });

  test("are as many as one owner may have, and none of a request that passes it is kept", async () => {
    const many = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => ({ key: `${prefix}${n}` }));
    const first = await api.ask("PATCH", `${environment}/bulk`, { body: { data: many(999, "A") } });
    expect(first.status).toBe(200);
    const over = await api.ask("PATCH", `${environment}/bulk`, { body: { data: many(2, "B") } });
    expect([over.status, JSON.stringify(over.json.errors)]).toEqual([422, expect.stringContaining("1000")]);
    expect((await api.ask("GET", `${environment}?take=1`)).headers["x-total-count"]).toBe("999");
    expect((await api.ask("POST", environment, { body: { key: "LAST" } })).status).toBe(201);
  });

  test("that are shown once, as those of a resource, are not shown again without a value of their own", async () => {
    const uuid = await createdApplication(api);
    for (const path of [environment, `/applications/${uuid}/envs`]) {
      await api.ask("POST", path, { body: { key: "ONCE", value: "never", is_shown_once: true } });
      const open = { key: "ONCE", is_shown_once: false };
      const asked = await api.ask("PATCH", path, { body: open });
      expect([asked.status, Object.keys(asked.json.errors)]).toEqual([422, ["is_shown_once"]]);
      const data = [{ key: "NEW", value: "1" }, open];
      const bulk = await api.ask("PATCH", `${path}/bulk`, { body: { data } });
      expect([bulk.status, Object.keys(bulk.json.errors)]).toEqual([422, ["data.1.is_shown_once"]]);
      expect(JSON.stringify((await api.ask("GET", path)).json)).not.toMatch(/never|NEW/);
      const anew = await api.ask("PATCH", path, { body: { ...open, value: "2" } });
      expect([anew.status < 300, anew.json.value]).toEqual([true, "2"]);
    }
  });

  test("stand in real_value for what refers to them, unless they are shown once", async () => {
    const { team } = ownersOf(api);
    const data = [
      { key: "OPEN", value: "$& open" },
      { key: "ONCE", value: "never", is_shown_once: true },
    ];
    const saved = await api.ask("PATCH", `${team}/shared-variables/bulk`, { body: { data } });
    expect(saved.json.map(({ value }: { value?: string }) => value)).toEqual(["$& open", undefined]);
    const envs = `/applications/${await createdApplication(api)}/envs`;
    const value = "<{{team.OPEN}}|{{ team.ONCE }}|{{ team.NONE }}>";
    await api.ask("POST", envs, { body: { key: "A", value } });
    const { json } = await api.ask("GET", envs);
    const real_value = "<$& open|{{ team.ONCE }}|{{ team.NONE }}>";
    expect(json[0]).toMatchObject({ value, real_value, is_shared: false });
    expect(JSON.stringify((await api.ask("GET", `${team}/shared-variables`)).json)).not.toContain("never");
    const reader = await api.tokenWith("read");
    const { text } = await api.ask("GET", `${team}/shared-variables`, { token: reader });
    expect(text).not.toContain("$& open");
  });

  test("make no answer of gigabytes of a few references", async () => {
    const { team } = ownersOf(api);
    await api.ask("POST", `${team}/shared-variables`, { body: { key: "LONG", value: "x".repeat(131_000) } });
    const envs = `/applications/${await createdApplication(api)}/envs`;
    const made = await api.ask("POST", envs, { body: { key: "A", value: "{{team.LONG}}".repeat(10_000) } });
    expect(made.status).toBe(201);
    expect((await api.ask("GET", envs)).text.length).toBeLessThan(2_000_000);
  });

  test("are part of a database's URL that refers to them, unless they or the variable are shown once", async () => {
    const owner = `${ownersOf(api).project}/shared-variables`;
    await api.ask("POST", owner, { body: { key: "PW", value: "s3cret-shared" } });
    const { json: made } = await api.ask("POST", "/databases/redis", { body: api.where });
    await api.ask("PATCH", `/databases/${made.uuid}/envs`, {
      body: { key: "REDIS_PASSWORD", value: "{{ project.PW }}" },
    });
    const { json } = await api.ask("GET", `/databases/${made.uuid}`);
    expect(json.internal_db_url).toContain("s3cret-shared");
    expect(json.redis_password).toBe("s3cret-shared");
    await api.ask("PATCH", owner, { body: { key: "PW", is_shown_once: true } });
    const hidden = await api.ask("GET", `/databases/${made.uuid}`);
    expect([hidden.json.redis_password, hidden.text.includes("s3cret-shared")]).toEqual(["{{ project.PW }}", false]);
    const own = { key: "REDIS_PASSWORD", value: "s3cret-own", is_shown_once: true };
    await api.ask("PATCH", `/databases/${made.uuid}/envs`, { body: own });
    const once = await api.ask("GET", `/databases/${made.uuid}`);
    expect([once.json.redis_password, once.text.includes("s3cret-own")]).toEqual([null, false]);
    expect(once.json.internal_db_url).toBe(`redis://default@${made.uuid}:6379/0`);
  });

  test("of another team are neither seen nor referred to", async () => {
    const other = asOtherTeam(api);
    await other.ask("POST", "/teams/current/shared-variables", { body: { key: "FOREIGN", value: "theirs" } });
    const envs = `/applications/${await createdApplication(api)}/envs`;
    await api.ask("POST", envs, { body: { key: "A", value: "{{ team.FOREIGN }}" } });
    expect((await api.ask("GET", envs)).json[0].real_value).toBe("{{ team.FOREIGN }}");
    const { json } = await api.ask("GET", "/teams/current/shared-variables");
    expect(json.map(({ key }: { key: string }) => key)).not.toContain("FOREIGN");
  });

  test("tell by their keys alone that they changed", async () => {
    await api.ask("POST", environment, { body: { key: "TOLD", value: "secret-of-an-event" } });
    const events = await api.stores.events.list({});
    const told = events.filter(({ type }) => type === "shared_variables.changed").at(-1);
    expect(told?.payload).toMatchObject({ scope: "environment", keys: ["TOLD"] });
    expect(JSON.stringify(events)).not.toContain("secret-of-an-event");
  });
});
