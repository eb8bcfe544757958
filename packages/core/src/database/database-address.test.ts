import { describe, expect, test } from "vitest";
import { DATABASE_PROPERTIES, databaseReference } from "../env/env-value.ts";
import type { DatabaseClient } from "../ports/database.ts";
import { databaseDefaults } from "./database.ts";
import { databaseReach, seenDatabase } from "./database-address.ts";

const OWN_DOCKER = { server_ip: "host.docker.internal" };
const REMOTE = { server_ip: "2001:db8::7" };

const database = (fields: object = {}, placement: object = OWN_DOCKER) =>
  ({
    uuid: "b4",
    name: "shopdb",
    engine: "postgresql",
    settings: databaseDefaults("postgresql"),
    fields: { postgres_user: "app", postgres_db: "shop" },
    is_public: false,
    public_port: null,
    public_port_problem: null,
    loopback_port: null,
    server_id: 2,
    destination_id: 20,
    placement,
    ...fields,
    // Has only the fields that are read.
  }) as unknown as Parameters<typeof databaseReach>[1];

const client = (fields: Partial<DatabaseClient> = {}): DatabaseClient => ({
  name: "shop",
  server_id: 2,
  destination_id: 20,
  server_name: "docker",
  server_engine: "docker",
  is_in_network: true,
  ...fields,
});
const PROCESS = { server_id: 1, destination_id: 10, server_name: "localhost", server_engine: "process" } as const;
const PUBLIC = { is_public: true, public_port: 15_432 };
const secrets = { postgres_password: "s3:cret" };
const LOGIN = "postgres://app:s3%3Acret@";

describe("a database is reached", () => {
  test.each<[string, Partial<DatabaseClient>, object, object, string, string]>([
    ["by its name in the same network", {}, {}, OWN_DOCKER, "network", `${LOGIN}b4:5432/shop`],
    ["by its name also when it is public", {}, PUBLIC, OWN_DOCKER, "network", `${LOGIN}b4:5432/shop`],
    [
      "by its loopback port from a process of the same machine",
      PROCESS,
      { loopback_port: 20_123 },
      OWN_DOCKER,
      "loopback",
      `${LOGIN}127.0.0.1:20123/shop`,
    ],
    [
      "by its public port from a process of the same machine, which closes the other",
      PROCESS,
      { ...PUBLIC, loopback_port: 20_123 },
      OWN_DOCKER,
      "loopback",
      `${LOGIN}127.0.0.1:15432/shop`,
    ],
    [
      "by the address of its server from another",
      { server_id: 3, destination_id: 30 },
      PUBLIC,
      REMOTE,
      "public_port",
      `${LOGIN}[2001:db8::7]:15432/shop`,
    ],
    [
      "by the address of its server from another network of the server",
      { destination_id: 21 },
      PUBLIC,
      REMOTE,
      "public_port",
      `${LOGIN}[2001:db8::7]:15432/shop`,
    ],
    [
      "from containers with a network of their own by its public port",
      { is_in_network: false },
      PUBLIC,
      REMOTE,
      "public_port",
      `${LOGIN}[2001:db8::7]:15432/shop`,
    ],
  ])("%s", (_what, from, fields, placement, route, url) => {
    expect(databaseReach(client(from), database(fields, placement), secrets)).toEqual({ route, url });
  });

  test.each<[string, Partial<DatabaseClient>, object, object, string]>([
    [
      "a compose file in its own network",
      { is_in_network: false },
      {},
      OWN_DOCKER,
      "Set connect_to_docker_network of shop",
    ],
    [
      "another server, to Berth's own machine",
      { server_id: 3, destination_id: 30 },
      PUBLIC,
      OWN_DOCKER,
      "in the same destination of server docker as shop",
    ],
    ["another server, without a public port", { server_id: 3 }, {}, REMOTE, "berth db update b4 --is-public"],
    ["a process, without a port", PROCESS, {}, REMOTE, "berth db update b4 --is-public"],
    [
      "a process, by a port that something else has",
      PROCESS,
      { loopback_port: 20_001, public_port_problem: "Port 20001 is taken." },
      OWN_DOCKER,
      "Port 20001 is taken.",
    ],
  ])("not from %s, with a remedy", (_what, from, fields, placement, remedy) => {
    const reach = databaseReach(client(from), database(fields, placement), secrets);
    expect("problem" in reach ? reach.problem : reach.url).toContain(remedy);
  });

  test("by its name only where no other of its environment has it", () => {
    const named = (uuid: string) => ({
      resource_id: 1,
      client: client(),
      database: database({ uuid }),
      secrets,
      is_shown_once: false,
    });
    // Have only the fields that are read.
    const both = [named("b4"), named("c5")] as unknown as Parameters<typeof seenDatabase>[1];
    expect(seenDatabase(databaseReference("shopdb"), both)).toMatchObject({
      value: null,
      problem:
        "2 databases of the environment are named shopdb: b4, c5. Name one by its uuid, such as {{ database.b4.url }}, or give them different names.",
    });
    expect(seenDatabase(databaseReference("c5"), both)).toMatchObject({ value: `${LOGIN}c5:5432/shop`, key: "c5.url" });
    expect(seenDatabase(databaseReference("none"), both)).toBeUndefined();
  });

  test("in parts, for programs that take no URL", () => {
    const one = { resource_id: 1, client: client(), database: database({ uuid: "b4" }), secrets, is_shown_once: false };
    // Has only the fields that are read.
    const seen = [one] as unknown as Parameters<typeof seenDatabase>[1];
    const url = new URL(seenDatabase(databaseReference("b4"), seen)?.value ?? "");
    const parts = DATABASE_PROPERTIES.map((property) => seenDatabase(databaseReference("b4", property), seen)?.value);
    const login = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    expect(parts).toEqual([url.href, "b4", "5432", ...login, "shop"]);
    expect(seenDatabase({ scope: "database", key: "b4.hostname" }, seen)).toBeUndefined();
    expect(seenDatabase({ scope: "team", key: "b4.url" }, seen)).toBeUndefined();
  });
});
