import { cloudProviders } from "@berth/cloud";
import type { MachineProvider } from "@berth/core/ports";
import type { HetznerServerCreate } from "@berth/core/server";
import { type CloudFault, type HetznerServer, startHetzner, testPrivateKey, testUuid } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ControlDeps } from "./index.ts";
import { outcomes, type World, world } from "./world.fixture.ts";

const TOKEN = "hetzner-s3cret";

let at: World;
let hetzner: HetznerServer;
let waits: number[];
let sent: HetznerServerCreate;
/** Runs after the machine was created, before the server is saved. */
let onceMade: () => Promise<unknown>;
beforeEach(async () => {
  await open();
});
afterEach(() => close());

async function open(options: Partial<ControlDeps> = {}): Promise<void> {
  hetzner = await startHetzner({ token: TOKEN });
  waits = [];
  onceMade = async () => undefined;
  const real = cloudProviders({ allowedPrivateHosts: ["127.0.0.1"], urls: { hetzner: hetzner.url } });
  const createMachine: MachineProvider["createMachine"] = async (token, wanted) => {
    const machine = await real.hetzner.createMachine(token, wanted);
    await onceMade();
    return machine;
  };
  const cloud = { ...real, hetzner: { ...real.hetzner, createMachine } };
  at = await world({ cloud, wait: async (seconds) => void waits.push(seconds), ...options });
  const { uuid } = await at.own.cloudTokens.create({ provider: "hetzner", name: "Shop", token: TOKEN });
  sent = {
    cloud_provider_token_uuid: uuid,
    name: "web-1",
    location: "fsn1",
    server_type: "cx22",
    image: 161_547_269,
    private_key_uuid: (await testPrivateKey(at.stores)).uuid,
  };
}

async function close(): Promise<void> {
  await at.db.close();
  await hetzner.close();
}

const create = (fields: Partial<HetznerServerCreate> = {}) => at.own.cloudServers.createHetzner({ ...sent, ...fields });
const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("It was not refused."),
    (error: unknown) => error,
  );
const limited = (seconds?: number): CloudFault => ({
  kind: "answer",
  status: 429,
  ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
});
const serversOf = async () => (await at.own.servers.list({})).items.filter(({ engine }) => engine === "docker");
const eventTypes = async () => (await at.stores.events.list({ take: 1000 })).map(({ type }) => type);

describe("a server on a rented machine", () => {
  test("[S23] is made with a token by its uuid: key, machine, address, server", async () => {
    const made = await create({ cloud_init_script: "packages: [git]", hetzner_ssh_key_ids: [5, 5] });
    const [machine] = hetzner.machines;
    const [sshKey] = hetzner.sshKeys;
    expect(made).toEqual({
      uuid: expect.any(String),
      hetzner_server_id: machine?.id,
      ip: expect.stringMatching(/^192/),
    });
    expect(machine).toMatchObject({
      name: "web-1",
      labels: { "berth-server": made.uuid },
      wanted: { ssh_keys: [sshKey?.id, 5], user_data: "#cloud-config\npackages: [git]" },
    });
    const token = await at.stores.cloudTokens.find(sent.cloud_provider_token_uuid ?? "");
    expect(await at.own.servers.get(made.uuid)).toMatchObject({
      name: "web-1",
      ip: made.ip,
      port: 22,
      user: "root",
      engine: "docker",
      private_key_id: expect.any(Number),
      hetzner_server_id: machine?.id,
      cloud_provider_token_id: token?.id,
      proxy: { type: "TRAEFIK", status: "exited" },
      is_validating: false,
    });
    expect(token?.servers_count).toBe(1);
    expect(await eventTypes()).toEqual(expect.arrayContaining(["cloud_machine.requested", "server.created"]));
    await expect(at.own.cloudTokens.delete(token?.uuid ?? "")).rejects.toThrow("in use");
  });

  test("[S24] is made with the deprecated name of the token too", async () => {
    const { cloud_provider_token_uuid: uuid } = sent;
    const made = await create({ cloud_provider_token_uuid: undefined, cloud_provider_token_id: uuid });
    expect(made.hetzner_server_id).toBe(hetzner.machines[0]?.id);
  });

  test("has a generated name, and is reached by IPv6 where there is no IPv4", async () => {
    const { uuid, ip } = await create({ name: null, enable_ipv4: false, instant_validate: true });
    const server = await at.own.servers.get(uuid);
    expect(ip).toMatch(/^2001:db8:[0-9a-f]+::1$/);
    expect([server.ip, server.name, server.is_validating]).toEqual([ip, `server-${uuid.slice(0, 8)}`, true]);
    expect(hetzner.machines[0]?.name).toBe(server.name);
  });

  test("is refused in this order: fields, limit, token, key, and Hetzner is asked for nothing", async () => {
    await close();
    await open({ teamServersMax: 1 });
    const asked = hetzner.requests.length;
    const wrong = { cloud_provider_token_uuid: "unknown", private_key_uuid: "unknown" };
    const noAddress = { enable_ipv4: false, enable_ipv6: false };
    expect(await outcomes([create({ ...wrong, ...noAddress }), create(wrong)])).toEqual([
      "Validation failed.",
      "Server limit reached for your subscription.",
    ]);
    await close();
    await open();
    expect(await outcomes([create(wrong), create({ private_key_uuid: "unknown" })])).toEqual([
      "Hetzner cloud provider token not found.",
      "Private key not found.",
    ]);
    expect(hetzner.requests).toHaveLength(asked);
  });

  test("[S67] takes neither token nor key of another team", async () => {
    const { cloudServers } = at.otherTeam.control;
    const key = await testPrivateKey(at.db.stores(at.otherTeam.id));
    expect(
      await outcomes([
        cloudServers.createHetzner({ ...sent, private_key_uuid: key.uuid }),
        create({ private_key_uuid: key.uuid }),
        at.as(at.place.server.team_id, "read").cloudServers.createHetzner(sent),
      ]),
    ).toEqual([
      "Hetzner cloud provider token not found.",
      "Private key not found.",
      "Missing required permissions: write",
    ]);
  });

  test("is made once when it is asked for twice at once", async () => {
    const results = await outcomes([create(), create()]);
    expect(results.toSorted()).toEqual(["Hetzner has a server web-1 already. Choose another name.", "done"]);
    expect([hetzner.machines.length, (await serversOf()).length]).toEqual([1, 1]);
  });

  test("is one more than the team may have only for the first of two", async () => {
    await close();
    await open({ teamServersMax: 2 });
    const results = await outcomes([create({ name: "a" }), create({ name: "b" })]);
    expect(results.toSorted()).toEqual([
      expect.stringMatching(/^Server limit reached for your subscription\./),
      "done",
    ]);
    expect([hetzner.machines.length, (await serversOf()).length]).toEqual([1, 1]);
  });

  test("is never more than the team may have, however many are added at once", async () => {
    await close();
    await open({ teamServersMax: 3 });
    const added = ["a", "b", "c", "d", "e", "f"].map((name) =>
      at.own.servers.create({ name, ip: `${name}.example`, private_key_uuid: sent.private_key_uuid }),
    );
    const results = await outcomes(added);
    expect(results.filter((result) => result === "done")).toHaveLength(2);
    expect((await at.own.servers.list({})).total).toBe(3);
  });

  test("is not this machine, whatever address Hetzner gives it", async () => {
    await close();
    await open({ addresses: { isOwn: async (host) => host.startsWith("192.0.2.") } });
    const { cloudServers } = at.as(at.place.server.team_id, "write");
    expect(await refusalOf(cloudServers.createHetzner(sent))).toMatchObject({
      code: "auth.missing_ability",
      message: expect.stringMatching(/The machine web-1 was deleted again\.$/),
    });
    expect([hetzner.machines, await serversOf()]).toEqual([[], []]);
  });

  test("is refused by field where Hetzner refuses a field", async () => {
    expect(await refusalOf(create({ server_type: "huge" }))).toMatchObject({
      code: "request.invalid",
      fields: { server_type: [expect.any(String)] },
    });
    expect(await serversOf()).toEqual([]);
  });
});

describe("[S71] Hetzner's rate limit", () => {
  test("is waited for as it says, and the server is made", async () => {
    hetzner.fail("GET /ssh_keys", limited(50));
    hetzner.fail("POST /servers", limited(4), limited(20));
    await create();
    // The limit of a minute applies to all calls together, so the last delay is cut.
    expect(waits).toEqual([50, 4, 6]);
  });

  test("ends the request with its delay after three retries, and nothing is made", async () => {
    hetzner.fail("POST /servers", limited(3600), limited(3600), limited(3600), limited(37));
    expect(await refusalOf(create())).toMatchObject({
      code: "cloud.rate_limited",
      message: "Rate limit exceeded. Please try again later.",
      retryAfterSeconds: 37,
    });
    expect(waits).toEqual([2, 8, 20]);
    expect([hetzner.machines, await serversOf()]).toEqual([[], []]);
  });

  test("is 60 seconds where Hetzner does not say it", async () => {
    hetzner.fail("GET /ssh_keys", limited(), limited(), limited(), limited());
    expect(await refusalOf(create())).toMatchObject({ retryAfterSeconds: 60 });
  });

  test("is waited for when a machine is given back, too", async () => {
    await takeNextAddress();
    hetzner.fail(`DELETE /servers/${nextMachineId()}`, limited(1), limited(1));
    await refusalOf(create());
    expect([waits, hetzner.machines]).toEqual([[1, 1], []]);
  });
});

/** Gives the address of the next machine to a server of another team. */
async function takeNextAddress(): Promise<void> {
  await at.db.stores(at.otherTeam.id).servers.insert({
    ...at.place.server,
    uuid: testUuid(),
    private_key_id: null,
    engine: "docker",
    ip: `192.0.2.${nextMachineId() % 256}`,
  });
}
/** The number after that of the key, which is uploaded first. */
const nextMachineId = () => 1002;

describe("nothing half-made:", () => {
  test("the machine is deleted again when the server cannot be saved", async () => {
    await takeNextAddress();
    expect(await refusalOf(create())).toMatchObject({
      code: "resource.in_use",
      message: "A server with this IP/Domain is already in use. The machine web-1 was deleted again.",
    });
    expect([hetzner.machines, await serversOf()]).toEqual([[], []]);
  });

  test.each([
    ["token", () => at.own.cloudTokens.delete(sent.cloud_provider_token_uuid ?? "")],
    ["key", () => at.own.privateKeys.delete(sent.private_key_uuid)],
  ])("nor when its %s was deleted in the meantime", async (_, deletion) => {
    onceMade = deletion;
    expect(await refusalOf(create())).toMatchObject({ code: "resource.not_found" });
    expect([hetzner.machines, await serversOf()]).toEqual([[], []]);
  });

  test("a machine that cannot be deleted again is named, in the answer and in an event", async () => {
    await takeNextAddress();
    hetzner.fail(`DELETE /servers/${nextMachineId()}`, { kind: "answer", status: 503 });
    const error = await refusalOf(create());
    expect(error).toMatchObject({
      code: "cloud.failed",
      details: { hetzner_server_id: nextMachineId(), hetzner_server_name: "web-1" },
    });
    expect(String(error)).toMatch(
      /Failed to create Hetzner server\. A server with this IP.* The machine web-1 \(1002\) could not be deleted again/,
    );
    const [left] = (await at.stores.events.list({ take: 1000 })).filter(({ type }) => type === "cloud_machine.left");
    expect(left?.payload).toMatchObject({
      hetzner_server_id: nextMachineId(),
      server_name: "web-1",
      provider: "hetzner",
    });
    expect(JSON.stringify(left)).not.toContain(TOKEN);
  });

  test("a machine whose answer is lost becomes the server", async () => {
    hetzner.fail("POST /servers", { kind: "lost" });
    const made = await create();
    expect(made.hetzner_server_id).toBe(hetzner.machines[0]?.id);
    expect(hetzner.machines).toHaveLength(1);
  });

  test("a failure of Hetzner's is told as what could not be done", async () => {
    hetzner.fail("POST /servers", { kind: "answer", status: 500 });
    expect(await refusalOf(create())).toMatchObject({
      code: "cloud.failed",
      message: "Failed to create Hetzner server. Hetzner answered with status 500. Try again later.",
    });
    expect(await serversOf()).toEqual([]);
  });
});
