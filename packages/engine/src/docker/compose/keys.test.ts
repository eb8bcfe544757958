import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  COMPOSE_KEYS,
  type ComposePlace,
  composeKeyProblems,
  composeWarnings,
  type KeyFate,
  parseCompose,
} from "@berth/core/compose";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { planStack } from "./document.ts";
import { stackSpec } from "./stack.fixture.ts";

// Published with the compose specification; it lies beside the repository where it was developed.
const SCHEMA = fileURLToPath(new URL("../../../../../../shared/scripts/schemas/compose-spec.json", import.meta.url));
const schemaPath = [SCHEMA, process.env.BERTH_COMPOSE_SCHEMA ?? ""].find((path) => existsSync(path));
const skipReason = "no copy of the published compose schema: name one by BERTH_COMPOSE_SCHEMA";

const NO_SCHEMA = { definitions: {}, properties: {} };
const Properties = z.looseObject({ properties: z.record(z.string(), z.unknown()) });

/** A value that the schema accepts, for each key of a service. */
const SERVICE: Readonly<Record<string, unknown>> = {
  annotations: { a: "b" },
  attach: true,
  blkio_config: { weight: 300 },
  build: { context: "." },
  cap_add: ["NET_ADMIN"],
  cap_drop: ["ALL"],
  cgroup: "private",
  cgroup_parent: "m-x",
  command: ["run"],
  configs: ["said"],
  container_name: "mine",
  cpu_count: 1,
  cpu_percent: 10,
  cpu_period: 100_000,
  cpu_quota: 50_000,
  cpu_rt_period: 1000,
  cpu_rt_runtime: 500,
  cpu_shares: 512,
  cpus: 0.5,
  cpuset: "0",
  credential_spec: { config: "said" },
  depends_on: { other: { condition: "service_healthy", restart: true, required: false } },
  deploy: { resources: { limits: { memory: "64m" } }, restart_policy: { condition: "on-failure" } },
  develop: { watch: [{ path: ".", action: "rebuild" }] },
  device_cgroup_rules: ["c 1:3 mr"],
  devices: ["/dev/null:/dev/x"],
  dns: ["10.0.0.1"],
  dns_opt: ["use-vc"],
  dns_search: ["example.com"],
  domainname: "example.com",
  entrypoint: ["/e"],
  env_file: [".env"],
  environment: { A: "b" },
  expose: ["3000"],
  extends: { service: "other" },
  external_links: ["redis"],
  extra_hosts: { here: "10.0.0.1" },
  gpus: "all",
  group_add: ["mail"],
  healthcheck: { test: ["CMD", "true"], interval: "1s", timeout: "1s", retries: 3, start_period: "1s", disable: false },
  hostname: "here",
  image: "x",
  init: true,
  ipc: "shareable",
  isolation: "default",
  label_file: ["labels"],
  labels: { a: "b" },
  links: ["other"],
  logging: { driver: "none" },
  mac_address: "02:42:ac:11:65:43",
  mem_limit: "64m",
  mem_reservation: "32m",
  mem_swappiness: 10,
  memswap_limit: "128m",
  models: ["llm"],
  network_mode: "none",
  networks: ["back"],
  oom_kill_disable: true,
  oom_score_adj: 100,
  pid: "service:other",
  pids_limit: 10,
  platform: "linux/amd64",
  ports: ["8080:80"],
  post_start: [{ command: "true" }],
  pre_stop: [{ command: "true" }],
  privileged: true,
  profiles: ["debug"],
  provider: { type: "cloud" },
  pull_policy: "missing",
  pull_refresh_after: "1d",
  read_only: true,
  restart: "on-failure",
  runtime: "runc",
  scale: 2,
  secrets: ["token"],
  security_opt: ["no-new-privileges"],
  shm_size: "64m",
  stdin_open: true,
  stop_grace_period: "5s",
  stop_signal: "SIGINT",
  storage_opt: { size: "1G" },
  sysctls: { "net.core.somaxconn": 1024 },
  tmpfs: ["/run"],
  tty: true,
  ulimits: { nofile: { soft: 10, hard: 20 } },
  use_api_socket: true,
  user: "nobody",
  userns_mode: "host",
  uts: "host",
  volumes: ["data:/data"],
  volumes_from: ["other:ro"],
  working_dir: "/w",
};

const documentWith = (service: object) => ({
  services: { web: { image: "x", ...service }, other: { image: "y" } },
  networks: { back: null },
  volumes: { data: null },
  configs: { said: { content: "c" } },
  secrets: { token: { environment: "TOKEN" } },
});

const fateOf = (place: ComposePlace, key: string): KeyFate | undefined =>
  (COMPOSE_KEYS[place] as Readonly<Record<string, KeyFate>>)[key];

describe.each(Object.entries(SERVICE))("services.web.%s", (key, value) => {
  const document = documentWith({ [key]: value });
  const fate = fateOf("service", key);
  const said = typeof fate === "object" ? "warned" : fate;
  const compose = parseCompose(JSON.stringify(document));

  test(`is ${said}`, () => {
    expect("problems" in compose).toBe(fate === "refused");
    const warnings = composeWarnings(document, false).filter((warning) => warning.startsWith(`services.web.${key}:`));
    expect(warnings).toHaveLength(said === "warned" ? 1 : 0);
    if ("problems" in compose || (said !== "passed_on" && said !== "inert")) return;
    const spec = stackSpec("", { stack: { variables: { TOKEN: "t" } } });
    const { services } = planStack(spec, compose, "inst").document;
    expect(services.web?.[key]).toEqual(said === "inert" ? undefined : value);
  });
});

describe.skipIf(schemaPath === undefined)("the keys of the published compose schema", { meta: { skipReason } }, () => {
  const { $schema: _, ...schema } = z
    .looseObject({ definitions: z.record(z.string(), z.unknown()), properties: z.record(z.string(), z.unknown()) })
    .parse(schemaPath === undefined ? NO_SCHEMA : JSON.parse(readFileSync(schemaPath, "utf8")));
  const isValid = new Ajv({ strict: false, validateFormats: false, allowUnionTypes: true }).compile(schema);
  const keysOf = (name: string) => Object.keys(Properties.parse(schema.definitions[name]).properties);
  const build = z.object({ oneOf: z.tuple([z.unknown(), Properties]) });

  test("knows the same keys, in every place", () => {
    const service = Properties.parse(schema.definitions.service).properties;
    const published: Readonly<Record<ComposePlace, readonly string[]>> = {
      document: Object.keys(schema.properties),
      service: [...Object.keys(service), "exclude_from_hc"],
      build: Object.keys(build.parse(service.build).oneOf[1].properties),
      deploy: keysOf("deployment"),
      healthcheck: keysOf("healthcheck"),
      network: keysOf("network"),
      volume: keysOf("volume"),
      secret: keysOf("secret"),
      config: keysOf("config"),
    };
    const own = Object.entries(COMPOSE_KEYS).map(([place, keys]) => [place, Object.keys(keys).sort()] as const);
    const theirs = Object.entries(published).map(([place, keys]) => [place, keys.toSorted()] as const);
    expect(Object.fromEntries(own)).toEqual(Object.fromEntries(theirs));
    expect(Object.keys(SERVICE).sort()).toEqual(Object.keys(service).sort());
  });

  test.each(Object.entries(SERVICE))("takes services.web.%s as it is tried here", (key, value) => {
    expect(isValid(documentWith({ [key]: value })), JSON.stringify(isValid.errors)).toBe(true);
  });

  test.each([
    ["document", (more: object) => ({ ...documentWith({}), ...more })],
    ["service", (more: object) => documentWith(more)],
    ["build", (more: object) => documentWith({ build: { context: ".", ...more } })],
    ["deploy", (more: object) => documentWith({ deploy: more })],
    ["healthcheck", (more: object) => documentWith({ healthcheck: more })],
    ["network", (more: object) => ({ ...documentWith({}), networks: { back: more } })],
    ["volume", (more: object) => ({ ...documentWith({}), volumes: { data: more } })],
    ["secret", (more: object) => ({ ...documentWith({}), secrets: { token: { environment: "T", ...more } } })],
    ["config", (more: object) => ({ ...documentWith({}), configs: { said: { content: "c", ...more } } })],
  ] as const)("refuses with us what no %s has, and takes extensions", (_place, make) => {
    const wrong = make({ prots: ["80:80"] });
    const extended = make({ "x-own": { any: 1 } });
    expect([isValid(wrong), [...composeKeyProblems(wrong)].length]).toEqual([false, 1]);
    expect([isValid(extended), [...composeKeyProblems(extended)]]).toEqual([true, []]);
  });
});

test("what was probably meant is said", () => {
  expect([...composeKeyProblems(documentWith({ prots: ["80:80"] }))]).toEqual([
    "services.web.prots: Unknown key; ports is probably meant.",
  ]);
});

describe("what Swarm alone knows", () => {
  const document = (deploy: object) => documentWith({ deploy });
  const constraints = { placement: { constraints: ["node.role == worker"] } };

  test.each([
    ["one server", false, constraints, [/^services\.web\.deploy\.placement: Only servers that manage a Docker Swarm /]],
    ["a cluster, which obeys it", true, constraints, []],
    ["one server", false, { update_config: { order: "start-first" } }, [/docker compose ignores it too/]],
    [
      "a cluster",
      true,
      { update_config: { order: "start-first" } },
      [/^services\.web\.deploy\.update_config: Is ignored/],
    ],
    ["a cluster, which refuses it", true, { mode: "global" }, []],
  ] as const)("is warned of on %s (%s): %o", (_where, isOnCluster, deploy, expected) => {
    expect(composeWarnings(document(deploy), isOnCluster)).toEqual(
      expected.map((sentence) => expect.stringMatching(sentence)),
    );
  });
});
