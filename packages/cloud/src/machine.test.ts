import type { NewMachine } from "@berth/core/ports";
import type { CloudFault } from "@berth/testing";
import { afterEach, describe, expect, test } from "vitest";
import { type CloudBench, cloudBench, refusalOf, TOKEN } from "./cloud.fixture.ts";

let bench: CloudBench;
afterEach(() => bench.close());

const KEY = { name: "deploy", publicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8x deploy" };
const OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKzz other";
const MACHINE: NewMachine = {
  name: "web-1",
  location: "fsn1",
  serverType: "cx22",
  image: 161_547_269,
  sshKeyIds: [7],
  hasIpv4: true,
  hasIpv6: true,
  userData: null,
  serverUuid: "s3rver",
};

describe("an SSH key", () => {
  test("is uploaded once, however many ask for it", async () => {
    bench = await cloudBench();
    const id = await bench.hetzner.ensureSshKey(TOKEN, KEY);
    expect(await bench.hetzner.ensureSshKey(TOKEN, { ...KEY, name: "another name" })).toBe(id);
    expect(bench.hetznerServer.sshKeys).toEqual([expect.objectContaining({ id, name: "deploy" })]);
  });

  test("that is there under another name is used again", async () => {
    bench = await cloudBench();
    const { id } = bench.hetznerServer.addSshKey("laptop", KEY.publicKey);
    expect(await bench.hetzner.ensureSshKey(TOKEN, KEY)).toBe(id);
    expect(bench.hetznerServer.requests.map(({ name }) => name)).toEqual(["GET /ssh_keys"]);
  });

  test("whose name another key has gets a name of its own", async () => {
    bench = await cloudBench();
    bench.hetznerServer.addSshKey("deploy", OTHER_KEY);
    const id = await bench.hetzner.ensureSshKey(TOKEN, KEY);
    const [, uploaded] = bench.hetznerServer.sshKeys;
    expect(uploaded).toMatchObject({
      id,
      name: expect.stringMatching(/^deploy [0-9a-f]{6}$/),
      public_key: KEY.publicKey,
    });
  });

  test("that someone else uploads in this moment is used", async () => {
    bench = await cloudBench();
    const [one, other] = await Promise.all([1, 2].map(() => bench.hetzner.ensureSshKey(TOKEN, KEY)));
    expect(one).toBe(other);
    expect(bench.hetznerServer.sshKeys).toHaveLength(1);
  });

  test("is refused to a token that may only read", async () => {
    bench = await cloudBench({ isReadOnly: true });
    const error = await refusalOf(bench.hetzner.ensureSshKey(TOKEN, KEY));
    expect([error.code, error.message]).toEqual(["cloud.refused", expect.stringContaining("only allowed")]);
  });
});

describe("a machine", () => {
  test("is made as it is asked for, with the label of its server", async () => {
    bench = await cloudBench();
    const made = await bench.hetzner.createMachine(TOKEN, { ...MACHINE, userData: "#cloud-config\n" });
    const [machine] = bench.hetznerServer.machines;
    expect(machine?.wanted).toEqual({
      name: "web-1",
      location: "fsn1",
      server_type: "cx22",
      image: 161_547_269,
      ssh_keys: [7],
      public_net: { enable_ipv4: true, enable_ipv6: true },
      start_after_create: true,
      labels: { "berth-server": "s3rver" },
      user_data: "#cloud-config\n",
    });
    expect(made).toEqual({
      id: machine?.id,
      name: "web-1",
      ipv4: expect.stringMatching(/^192\.0\.2\./),
      ipv6: expect.stringMatching(/::\/64$/),
    });
  });

  test("without IPv4 has none", async () => {
    bench = await cloudBench();
    const made = await bench.hetzner.createMachine(TOKEN, { ...MACHINE, hasIpv4: false });
    expect([made.ipv4, made.ipv6]).toEqual([null, expect.any(String)]);
  });

  test("of a name that is taken is refused, and there is still one", async () => {
    bench = await cloudBench();
    await bench.hetzner.createMachine(TOKEN, MACHINE);
    const error = await refusalOf(bench.hetzner.createMachine(TOKEN, { ...MACHINE, serverUuid: "other" }));
    expect([error.code, error.message]).toEqual(["resource.already_exists", expect.stringContaining("web-1")]);
    expect(bench.hetznerServer.machines).toHaveLength(1);
  });

  test("that cannot be is refused by field", async () => {
    bench = await cloudBench();
    const error = await refusalOf(bench.hetzner.createMachine(TOKEN, { ...MACHINE, image: 1, serverType: "huge" }));
    expect([error.code, error.fields]).toEqual([
      "request.invalid",
      { server_type: ["server_type does not exist"], image: ["image does not exist"] },
    ]);
  });

  test.each([
    ["server type not found", "server_type"],
    ["Image with ID 1 is gone", "image"],
    ["ssh_key 12 not found", "hetzner_ssh_key_ids"],
    ["that does not work", "_"],
  ])("is refused by field where only the sentence names it: %s", async (message, field) => {
    bench = await cloudBench();
    const body = { error: { code: "invalid_input", message, details: null } };
    bench.hetznerServer.fail("POST /servers", { kind: "answer", status: 422, body });
    const error = await refusalOf(bench.hetzner.createMachine(TOKEN, MACHINE));
    expect(error.fields).toEqual({ [field]: [message] });
  });

  test.each([
    ["a limit", 403, { error: { code: "resource_limit_exceeded", message: "server limit exceeded" } }, "server limit"],
    ["no room", 412, { error: { code: "resource_unavailable", message: "try later" } }, "try later"],
    ["something unknown", 400, "?", "status 400"],
  ])("is refused with Hetzner's own words for %s", async (_, status, body, words) => {
    bench = await cloudBench();
    bench.hetznerServer.fail("POST /servers", { kind: "answer", status, body });
    const error = await refusalOf(bench.hetzner.createMachine(TOKEN, MACHINE));
    expect([error.code, error.message]).toEqual(["cloud.refused", expect.stringContaining(words)]);
  });

  const LOST: readonly CloudFault[] = [{ kind: "lost" }, { kind: "garbled" }];
  test.each(LOST)("whose answer is $kind is found again", async (fault) => {
    bench = await cloudBench();
    await bench.hetzner.createMachine(TOKEN, { ...MACHINE, name: "other", serverUuid: "other" });
    bench.hetznerServer.fail("POST /servers", fault);
    const made = await bench.hetzner.createMachine(TOKEN, MACHINE);
    expect(made).toMatchObject({ name: "web-1", id: bench.hetznerServer.machines[1]?.id });
    expect(bench.hetznerServer.machines).toHaveLength(2);
  });

  test("that was not made is not made up", async () => {
    bench = await cloudBench();
    bench.hetznerServer.fail("POST /servers", { kind: "cut" }, { kind: "answer", status: 502 });
    for (const _ of [1, 2]) {
      const error = await refusalOf(bench.hetzner.createMachine(TOKEN, MACHINE));
      expect([error.code, error.message]).toEqual(["cloud.failed", expect.not.stringContaining("may have made")]);
    }
    expect(bench.hetznerServer.machines).toEqual([]);
  });

  test("that nobody knows of is named, so that people can look for it", async () => {
    bench = await cloudBench();
    bench.hetznerServer.fail("POST /servers", { kind: "lost" });
    bench.hetznerServer.fail("GET /servers", { kind: "answer", status: 500 });
    const error = await refusalOf(bench.hetzner.createMachine(TOKEN, MACHINE));
    expect(error.message).toContain("may have created the server web-1");
  });

  test("is certainly not made while Hetzner cannot be reached", async () => {
    bench = await cloudBench();
    await bench.hetznerServer.close();
    const error = await refusalOf(bench.hetzner.createMachine(TOKEN, MACHINE));
    expect([error.code, error.message]).toEqual(["cloud.failed", expect.stringContaining("did not answer")]);
  });

  test("is deleted, however often", async () => {
    bench = await cloudBench();
    const { id } = await bench.hetzner.createMachine(TOKEN, MACHINE);
    await bench.hetzner.deleteMachine(TOKEN, id);
    await bench.hetzner.deleteMachine(TOKEN, id);
    expect(bench.hetznerServer.machines).toEqual([]);
    bench.hetznerServer.fail("DELETE /servers/1", { kind: "answer", status: 423 });
    expect((await refusalOf(bench.hetzner.deleteMachine(TOKEN, 1))).code).toBe("cloud.refused");
  });
});
