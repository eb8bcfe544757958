import { DomainError } from "@berth/core";
import { liveKeyOf } from "@berth/core/deploy";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const setQueueLimit = (deployment_queue_limit: number) =>
  api.ask("PATCH", `/servers/${api.where.server_uuid}`, { body: { deployment_queue_limit } });

describe("asking for a deployment", () => {
  test("works by query and by body, by POST and, for old clients, by GET", async () => {
    const uuid = await createdApplication(api, { name: "Asked" });
    const entry = {
      message: "Application Asked deployment queued.",
      resource_uuid: uuid,
      deployment_uuid: expect.any(String),
    };
    for (const [method, path, body] of [
      ["POST", `/deploy?uuid=${uuid}&force=true`, undefined],
      ["POST", "/deploy", { uuid, force: true }],
      ["GET", `/deploy?uuid=${uuid}&force=1`, undefined],
    ] as const) {
      const { status, json } = await api.ask(method, path, body === undefined ? {} : { body });
      expect([status, json]).toEqual([200, { deployments: [entry] }]);
    }
    const [queued] = (await api.ask("GET", "/deployments")).json;
    expect(queued.actor).toEqual({ type: "token", name: "test", user_id: 0 });
    // `false` is parsed as false, so the second request returns the waiting deployment.
    const { json } = await api.ask("GET", `/deploy?uuid=${uuid}&force=false`);
    expect(json.deployments[0].message).toBe("Deployment already queued for this commit.");
  });

  test("is refused with the literal texts of the API family", async () => {
    const refusals = [
      ["/deploy", 400, "You must provide uuid or tag."],
      ["/deploy?uuid=a&tag=b", 400, "You can only use uuid or tag, not both."],
      ["/deploy?uuid=unknown", 404, "No resources found."],
      ["/deploy?tag=unknown", 404, "No resources found with this tag."],
    ] as const;
    for (const [path, status, message] of refusals) {
      const answer = await api.ask("POST", path);
      expect([answer.status, answer.json.message]).toEqual([status, message]);
    }
  });

  test("starts, restarts and stops with the messages that clients wait for", async () => {
    const uuid = await createdApplication(api);
    const { id = 0, server_id = 0 } = (await api.stores.applications.find(uuid)) ?? {};
    const idle = await api.ask("POST", `/applications/${uuid}/stop`);
    expect([idle.status, idle.json.message]).toEqual([400, "Application is already stopped."]);
    const start = await api.ask("POST", `/applications/${uuid}/start?instant_deploy=true`);
    expect([start.status, start.json]).toEqual([
      200,
      { message: "Deployment request queued.", deployment_uuid: expect.any(String) },
    ]);
    expect((await api.ask("GET", `/applications/${uuid}/restart`)).json.message).toBe(
      "Deployment already queued for this commit.",
    );
    await api.db.system.resources.setStatus(liveKeyOf({ id, server_id }), "running:healthy");
    const running = await api.ask("POST", `/applications/${uuid}/start`);
    expect([running.status, running.json.message]).toEqual([400, "Application is already running."]);
    const stop = await api.ask("GET", `/applications/${uuid}/stop?docker_cleanup=false`);
    expect([stop.status, stop.json]).toEqual([200, { message: "Application stopping request queued." }]);
  });
});

describe("what old clients leave empty", () => {
  test.each(["pull_request_id", "server_uuid"])(
    "is not the text undefined of %s, which would deploy something else",
    async (key) => {
      const uuid = await createdApplication(api);
      expect((await api.ask("POST", `/deploy?uuid=${uuid}&${key}=undefined`)).status).toBeGreaterThanOrEqual(400);
    },
  );

  test.each([
    ["GET", "&tag=&force=&_=17", undefined],
    ["POST", "&tag=&force=&_=17", undefined],
    ["POST", "&tag=&force=undefined", undefined],
    ["POST", "", { tag: null, force: "", docker_tag: null }],
  ] as const)("is as if it were not sent, by %s with %j and %j", async (method, query, body) => {
    const uuid = await createdApplication(api);
    const { status, json } = await api.ask(method, `/deploy?uuid=${uuid}${query}`, body && { body });
    expect([status, json.deployments]).toEqual([200, [expect.objectContaining({ resource_uuid: uuid })]]);
  });
});

describe("unknown keys in the query of an action", () => {
  test.each(["GET", "POST"] as const)(
    "are ignored by %s, so that a client may change from one to the other",
    async (method) => {
      const uuid = await createdApplication(api);
      for (const [action, status] of [
        ["restart", 200],
        ["start", 200],
        ["stop", 200],
      ] as const) {
        const answer = await api.ask(method, `/applications/${uuid}/${action}?force=&_=17`);
        expect([action, answer.status]).toEqual([action, status]);
      }
      const unclear = await api.ask(method, `/applications/${uuid}/start?force=perhaps`);
      expect([unclear.status, Object.keys(unclear.json.errors)]).toEqual([422, ["force"]]);
    },
  );
});

const isDatabaseUnavailable = (fault: unknown): boolean =>
  fault instanceof Error && fault.cause instanceof DomainError && fault.cause.code === "database.unavailable";

describe("a full queue", () => {
  test("[S70] answers 429 with when to try again", async () => {
    const uuid = await createdApplication(api);
    await setQueueLimit(1);
    await api.ask("POST", `/deploy?uuid=${uuid}&force=true`);
    const { status, headers, json } = await api.ask("POST", `/deploy?uuid=${uuid}&force=true`);
    expect([status, headers["retry-after"], json.code, json.message]).toEqual([
      429,
      "60",
      "queue.full",
      "Deployment queue is full. Please wait for existing deployments to complete.",
    ]);
    await setQueueLimit(100_000);
  });

  test("[S72] holds exactly 25 of 1,000 deployments that are asked for at once", async () => {
    const fresh = await served();
    try {
      const uuids: string[] = [];
      for (let n = 0; n < 20; n++) uuids.push(await createdApplication(fresh, { autogenerate_domain: false }));
      // On a busy machine some wait longer for the database than a caller shall: 503 asks them to come again.
      const ask = async (n: number): ReturnType<typeof fresh.ask> => {
        const answer = await fresh.ask("POST", `/deploy?force=true&uuid=${uuids[n % uuids.length]}`);
        return answer.status === 503 ? await ask(n) : answer;
      };
      const answers = await Promise.all(Array.from({ length: 1000 }, (_, n) => ask(n)));
      const count = (status: number) => answers.filter((answer) => answer.status === status).length;
      expect([count(200), count(429)]).toEqual([25, 975]);
      expect((await fresh.ask("GET", "/deployments?take=1000")).json).toHaveLength(25);
      expect(fresh.faults.filter((fault) => !isDatabaseUnavailable(fault))).toEqual([]);
    } finally {
      await fresh.close();
    }
  });
});

describe("deployments", () => {
  test("[S29] [S54] [S62] are listed by pages, newest first for an application", async () => {
    const uuid = await createdApplication(api);
    const made: string[] = [];
    for (let n = 0; n < 12; n++) {
      const { json } = await api.ask("POST", `/deploy?uuid=${uuid}&force=true`);
      made.unshift(json.deployments[0].deployment_uuid);
    }
    const first = await api.ask("GET", `/deployments/applications/${uuid}`);
    const uuidsOf = (list: { deployment_uuid: string }[]) => list.map((one) => one.deployment_uuid);
    expect([first.json.count, uuidsOf(first.json.deployments)]).toEqual([12, made.slice(0, 10)]);
    expect(first.headers["x-total-count"]).toBe("12");
    const rest = await api.ask("GET", `/deployments/applications/${uuid}?skip=10&take=5`);
    expect(uuidsOf(rest.json.deployments)).toEqual(made.slice(10));
    const active = await api.ask("GET", "/deployments?take=3");
    expect([active.json.length, Number(active.headers["x-total-count"]) >= 12]).toEqual([3, true]);
    for (const query of ["skip=-1", "take=0", "take=1001", "take=ten"]) {
      expect((await api.ask("GET", `/deployments?${query}`)).status).toBe(422);
      expect((await api.ask("GET", `/deployments/applications/${uuid}?${query}`)).status).toBe(422);
    }
  });

  test("[S65] of one pull request are listed by it", async () => {
    const uuid = await createdApplication(api);
    await api.ask("POST", `/deploy?uuid=${uuid}`);
    const ofNone = await api.ask("GET", `/deployments/applications/${uuid}?pull_request_id=0`);
    const ofOne = await api.ask("GET", `/deployments/applications/${uuid}?pull_request_id=7`);
    expect([ofNone.json.count, ofOne.json.count]).toEqual([1, 0]);
  });

  test("[S31] wait in the queue, and are cancelled once", async () => {
    const uuid = await createdApplication(api);
    const { json } = await api.ask("POST", `/deploy?uuid=${uuid}`);
    const path = `/deployments/${json.deployments[0].deployment_uuid}`;
    expect((await api.ask("GET", path)).json).toMatchObject({
      status: "queued",
      application_uuid: uuid,
      application_id: expect.any(String),
      is_api: true,
      finished_at: null,
      logs: "[]",
    });
    const cancelled = await api.ask("POST", `${path}/cancel`);
    expect([cancelled.status, cancelled.json]).toEqual([
      200,
      {
        message: "Deployment cancelled successfully.",
        deployment_uuid: json.deployments[0].deployment_uuid,
        status: "cancelled-by-user",
      },
    ]);
    const again = await api.ask("POST", `${path}/cancel`);
    expect([again.status, again.json.message]).toEqual([
      400,
      "Deployment cannot be cancelled. Current status: cancelled-by-user",
    ]);
  });

  test("show their steps and their log, and both are followed to the end", async () => {
    const fresh = await served();
    try {
      const uuid = await createdApplication(fresh);
      const { json } = await fresh.ask("POST", `/deploy?uuid=${uuid}`);
      const path = `/deployments/${json.deployments[0].deployment_uuid}`;
      const { deployments } = fresh.db.system;
      const claim = await deployments.claimNext({ owner: "test", leaseSeconds: 60 });
      if (claim === undefined) throw new Error("Nothing waits.");
      const line = (output: string, hidden = false) =>
        ({ step: "build", type: "stdout", output, hidden, timestamp: new Date() }) as const;
      await deployments.appendLog(claim.deployment.id, [line("one"), line("two", true), line("three")]);
      await deployments.saveStep(claim.lease, "build", { status: "failed", error: "It broke." });
      await deployments.finish(claim.lease, "failed", "It broke.");

      const log = await fresh.ask("GET", `${path}/logs?after=1`);
      expect(log.json).toMatchObject({ status: "failed", next: 3, lines: [{ seq: 2 }, { seq: 3, output: "three" }] });
      const token = await fresh.tokenWith("read");
      expect((await fresh.ask("GET", `${path}/logs`, { token })).json.lines).toHaveLength(2);
      expect((await fresh.ask("GET", path, { token })).json).not.toHaveProperty("logs");
      expect((await fresh.ask("GET", `${path}/steps`)).json).toContainEqual(
        expect.objectContaining({ name: "build", status: "failed", error: "It broke." }),
      );
      const followed = await fresh.ask("GET", `${path}/logs/follow`);
      expect([...followed.text.matchAll(/"output":"(\w+)"/g)].map(([, text]) => text)).toEqual(["one", "two", "three"]);
      expect(followed.text).toMatch(/"status":"failed".*\n\nevent: end/s);
      const resumed = await fresh.ask("GET", `${path}/logs/follow?lastEventId=2`);
      expect([...resumed.text.matchAll(/"output":"(\w+)"/g)].map(([, text]) => text)).toEqual(["three"]);
    } finally {
      await fresh.close();
    }
  });
});
