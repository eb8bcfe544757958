import { isDomainError } from "@berth/core";
import { parseCompose } from "@berth/core/compose";
import { describe, expect, test } from "vitest";
import { planStack } from "./document.ts";
import { composeReason, isLostConnection, shownProgress } from "./reason.ts";
import { stackSpec } from "./stack.fixture.ts";

const IDS = { resourceUuid: "res", deploymentUuid: "dep" };

function planOf(text: string, change: Parameters<typeof stackSpec>[1] = {}) {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return planStack(stackSpec(text, { ...IDS, ...change }), compose, "inst");
}
const documentOf = (...args: Parameters<typeof planOf>) => planOf(...args).document;

describe("what the compose tool is told", () => {
  test.each([
    ["", 4096],
    ["pids_limit: 100", 100],
    ["pids_limit: -1", 4096],
    ["deploy: { resources: { limits: { pids: 200, memory: 1g } } }", 200],
    ["deploy: { resources: { limits: { pids: -1 } } }", 4096],
  ])("is a limit of processes, whatever the text says: %s", (text, expected) => {
    const { services } = documentOf(`services:\n  web:\n    image: nginx\n    ${text}\n`);
    expect(services.web).toMatchObject({ pids_limit: expected });
    if (text.includes("limits")) {
      expect(services.web).toMatchObject({ deploy: { resources: { limits: { pids: expected } } } });
    }
  });

  test("is Berth's own, whatever the text says", () => {
    const { services } = documentOf(
      `services:
  web:
    image: nginx
    container_name: mine
    restart: "no"
    pull_policy: always
    deploy: { labels: { a: b } }
    logging: { driver: none }
    exclude_from_hc: true
    labels: ["berth.instance=other", "com.docker.compose.project=x", "team=web", "berth.role=proxy"]
`,
      {
        images: { web: { image: "berth/res:dep.web" } },
        containers: { web: { ports: [80], labels: { "berth.port": "1", own: "$x" } } },
      },
    );
    expect(services.web).toEqual({
      image: "berth/res:dep.web",
      container_name: "web-res-dep",
      restart: "no",
      pull_policy: "never",
      pids_limit: 4096,
      deploy: { labels: { a: "b" } },
      logging: { driver: "json-file", options: { "max-size": "20m", "max-file": "3" } },
      environment: { BERTH_DEPLOYMENT_UUID: "dep" },
      volumes: [],
      networks: { res: { aliases: ["mine"] } },
      labels: {
        ...Object.fromEntries(["lasting-name", "replicas", "storage", "version"].map((name) => [`berth.${name}`, ""])),
        team: "web",
        own: "$x",
        "berth.managed": "true",
        "berth.instance": "inst",
        "berth.role": "release",
        "berth.run": "",
        "berth.resource": "res",
        "berth.deployment": "dep",
        "berth.kind": "service",
        "berth.name": "test",
        "berth.port": "80",
        "berth.container": "web",
        "berth.order": "0",
        "berth.scope": "res",
        "berth.excluded": "true",
        "berth.spec": expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
  });

  test("is refused by its name when a variable is too long with what it refers to", () => {
    const text = `services:\n  web:\n    image: nginx\n    environment:\n      GROWN: "\${A}\${A}"\n`;
    const planned = () => documentOf(text, { stack: { variables: { A: "x".repeat(70_000) } } });
    expect(planned).toThrow(/^The variable GROWN is too long: .* has more than 131071 bytes/);
  });

  test("has no network that Berth does not make, the default one included", () => {
    const networksOf = (text: string) => documentOf(`services:\n  a: { image: x, networks: ${text} }\n`).networks;
    const own = { res: { name: "res", external: true } };
    const all = { ...own, default: { name: "res_default", external: true } };
    expect([networksOf("{}"), networksOf("[default]")]).toEqual([own, all]);
    expect(networksOf("{ default: { aliases: [y] } }")).toEqual(all);
  });

  test.each([
    ["default: { external: true, name: proxy }", "", ["default", "res"], "proxy"],
    ["default: { external: true, name: proxy }", "networks: []", ["default", "res"], "proxy"],
    ["default: { external: true, name: proxy }", "network_mode: host", [], "proxy"],
    ["default: { internal: true }", "", ["default"], "res_default"],
    ["default: { driver_opts: { a: b } }, back: ", "networks: [back]", ["back", "res"], "res_default"],
    ["default: , back: { internal: true }", "networks: [default, back]", ["back", "default", "res"], "res_default"],
    ["default: , back: { internal: 'true' }", "networks: { back: { aliases: [x] } }", ["back"], "res_default"],
    ["default: , back: { internal: yes }", "networks: [back]", ["back"], "res_default"],
    ["default: , back: { internal: '${NO-false}' }", "networks: [back]", ["back", "res"], "res_default"],
    ["default: { external: '${NO:-false}', name: proxy }", "", ["default", "res"], "res_default"],
    ["default: { external: '${YES:-true}', name: proxy }", "", ["default", "res"], "proxy"],
    ["default: , back: { internal: true, external: true }", "networks: [back]", ["back", "res"], "res_default"],
  ])(
    "joins the default network as the text means it, and gets outside of no internal one: %s %s",
    (text, more, names, called) => {
      const whole = `services:\n  a:\n    image: x\n    ${more}\nnetworks: { ${text} }\n`;
      const { services, networks } = documentOf(whole);
      expect(Object.keys(services.a?.networks ?? {}).sort()).toEqual(names);
      expect(networks.default).toEqual({ name: called, external: true });
    },
  );

  test.each([
    ["", [], ["back"]],
    ["", [80], ["back"]],
    [", driver: macvlan", [], ["back"]],
    [", driver: macvlan", [80], ["back", "res"]],
    [", driver_opts: { com.docker.network.bridge.gateway_mode_ipv4: isolated }", [80], ["back", "res"]],
  ])(
    "leaves what takes requests where its server reaches it, and cuts the rest off: internal%s with the ports %j",
    (more, ports, names) => {
      const text = `services: { a: { image: x, networks: [back] } }\nnetworks: { back: { internal: true${more} } }\n`;
      const { services } = documentOf(text, { containers: { a: { ports } } });
      expect(Object.keys(services.a?.networks ?? {}).sort()).toEqual(names);
    },
  );

  test("has as many containers as the text asks for, none of them by a name that only one can have", () => {
    const text = `
services:
  a: { image: x, scale: 3, container_name: mine }
  b: { image: x, deploy: { replicas: "\${COUNT}", mode: replicated, restart_policy: { condition: on-failure } } }
  c: { image: x, profiles: [debug] }
  d: { image: x, profiles: [tools, "on"] }
`;
    const { services } = documentOf(text, { stack: { variables: { COUNT: "2", COMPOSE_PROFILES: "on" } } });
    expect(services.a).toMatchObject({ scale: 3, labels: { "berth.replicas": "3" } });
    expect(services.a).not.toHaveProperty("container_name");
    expect(services.b).toMatchObject({ scale: 2, deploy: { restart_policy: { condition: "on-failure" } } });
    expect(services.b).not.toHaveProperty("restart");
    expect(services.c).toMatchObject({ profiles: ["debug"], restart: "unless-stopped" });
    expect(services.d).not.toHaveProperty("profiles");
    expect(() => documentOf(text, { stack: { variables: { COUNT: "many" } } })).toThrow("must be an integer from 0 to");
  });

  test("numbers the containers of a service that another one extends, and inherits how many there are", () => {
    const text = `
services:
  web: { image: x, deploy: { replicas: 2 } }
  same: { extends: { service: web } }
  one: { extends: web, scale: 1 }
  base: { image: x }
  many: { extends: { service: base }, scale: 3 }
`;
    const { services } = documentOf(text);
    const scales = Object.entries(services).map(([name, { scale }]) => [name, scale]);
    expect(scales).toEqual([
      ["web", 2],
      ["same", 2],
      ["one", 1],
      ["base", 1],
      ["many", 3],
    ]);
    const named = Object.keys(services).filter((name) => services[name]?.container_name !== undefined);
    expect(named).toEqual(["one"]);
  });

  test("keeps volumes and networks as the text defines them", () => {
    const text = `
services: { a: { image: x, volumes: ["data:/data"], networks: [back] } }
volumes: { data: { driver: local, driver_opts: { type: tmpfs }, labels: { team: a, berth.storage: other } } }
networks: { back: { attachable: true, enable_ipv4: false, labels: [team=a, berth.instance=other] } }
`;
    const { volumes, networks } = planOf(text);
    const labels = { team: "a" };
    expect(volumes).toMatchObject([{ uuid: "res_data", driver: "local", driverOptions: { type: "tmpfs" }, labels }]);
    expect(volumes[0]?.labels).toEqual(labels);
    expect(networks[1]).toMatchObject({ isAttachable: true, isIpv4: false, labels });
    expect(networks[1]?.labels).toEqual(labels);
  });

  test("names no file that somebody would have to read", () => {
    const text = `
services:
  a:
    image: x
    env_file: .env
    label_file: labels
    configs: [plain, { source: said, target: /etc/said, mode: "0400", uid: "5" }]
    secrets: [token]
    environment: [GIVEN, GONE]
configs: { plain: { content: "p $V" }, said: { environment: SAID } }
secrets: { token: { environment: TOKEN } }
`;
    const variables = { V: "v", SAID: "s", TOKEN: "t", GIVEN: "g" };
    const { document, files } = planOf(text, { stack: { variables } });
    expect(JSON.stringify(document)).not.toMatch(/env_file|label_file|"configs"|"secrets"/);
    expect(documentOf(text, { stack: { variables } }).services.a?.environment).toEqual({
      ...variables,
      BERTH_DEPLOYMENT_UUID: "dep",
    });
    expect(files.get("a")?.entries).toEqual([
      { mountPath: "/plain", content: "p v", mode: 0o444, uid: 0, gid: 0 },
      { mountPath: "/etc/said", content: "s", mode: 0o400, uid: 5, gid: 0 },
      { mountPath: "/run/secrets/token", content: "t", mode: 0o444, uid: 0, gid: 0 },
    ]);
    try {
      planOf(text);
      expect.unreachable();
    } catch (error) {
      expect(isDomainError(error, "deploy.start_failed")).toBe(true);
    }
  });

  test("mounts volumes of the resource by identity, and what the storages say in the place of the text", () => {
    const text = `
services:
  a:
    image: x
    volumes:
      - data:/data
      - { type: volume, source: named, target: /named, read_only: true, volume: { nocopy: true } }
      - there:/there
      - ./beside:/beside
      - /srv/x:/x:ro
      - /anonymous
      - { type: tmpfs, target: /tmp }
      - { type: bind, source: ./f, target: /f, content: text }
  b: { image: x, volumes: ["data:/other/"] }
volumes: { data: { driver: local }, named: { name: "berth-other" }, there: { external: true, name: outside } }
`;
    const storages = [
      { type: "volume", uuid: "res_data", name: "data", mountPath: "/data", isRecorded: true },
    ] as const;
    const { volumes, files } = planOf(text, { containers: { a: { storages } } });
    expect(volumes.map(({ uuid, type, isRecorded }) => [uuid, type, isRecorded])).toEqual([
      ["res_data", "volume", true],
      ["res_berth-other", "volume", undefined],
      ["res_folder.beside", "volume", undefined],
    ]);
    const document = documentOf(text, { containers: { a: { storages } } });
    expect(document.volumes).toEqual({
      outside: { external: true, name: "outside" },
      "berth-res_data": { external: true, name: "berth-res_data" },
      "berth-res_berth-other": { external: true, name: "berth-res_berth-other" },
      "berth-res_folder.beside": { external: true, name: "berth-res_folder.beside" },
    });
    expect(document.services.a?.volumes).toEqual([
      "/srv/x:/x:ro",
      "/anonymous",
      { type: "tmpfs", target: "/tmp" },
      { type: "volume", source: "berth-res_data", target: "/data" },
      { type: "volume", source: "berth-res_berth-other", target: "/named", read_only: true, volume: { nocopy: true } },
      { type: "volume", source: "outside", target: "/there" },
      { type: "volume", source: "berth-res_folder.beside", target: "/beside" },
    ]);
    expect(document.services.b?.volumes).toEqual([{ type: "volume", source: "berth-res_data", target: "/other/" }]);
    expect(files.get("a")?.mounts).toMatchObject([{ type: "file", mountPath: "/f", content: "text" }]);
  });

  test("joins networks that Berth makes, and those that were asked for", () => {
    const text = `
services:
  a: { image: x, networks: { back: { aliases: [db], ipv4_address: 10.9.0.2 } } }
  b: { image: x, network_mode: none }
  c: { image: x, networks: [out] }
networks: { back: { internal: true, ipam: { config: [{ subnet: 10.9.0.0/24 }] } }, out: { external: true } }
`;
    const { networks } = planOf(text, { stack: { networks: ["berth"], scope: "res-pr-1" } });
    expect(networks).toMatchObject([
      { name: "res-pr-1" },
      { name: "res-pr-1_back", isInternal: true, driver: "bridge" },
    ]);
    const containers = { a: { networkAliases: ["a-res"] } };
    const { document, shared } = planOf(text, { containers, stack: { networks: ["berth"] } });
    // The compose tool would add the services' keys as aliases, which other services may have too.
    expect([...shared]).toEqual([
      ["a", ["a-res"]],
      ["c", []],
    ]);
    expect(planOf(text).shared.size).toBe(0);
    expect(document.networks).toEqual({
      back: { name: "res_back", external: true },
      out: { name: "out", external: true },
      res: { name: "res", external: true },
    });
    expect(document.services.a?.networks).toEqual({
      back: { aliases: ["db", "a-res"], ipv4_address: "10.9.0.2" },
    });
    expect(document.services.b).not.toHaveProperty("networks");
    expect(Object.keys(document.services.c?.networks ?? {})).toEqual(["res", "out"]);
  });
});

test.each([
  [
    [
      "Container web-res0000000-dep0000000  Creating",
      "dependency failed to start: container db-res0000000-dep0000000 is unhealthy",
    ],
    "dependency failed to start: container db is unhealthy.",
  ],
  [
    ["Error response from daemon: driver failed: Bind for 0.0.0.0:80 failed: port is already allocated"],
    "port 80 of the server is taken. Choose another one in the compose file.",
  ],
  [['external volume "x" not found'], "the server has no volume x. Create it, or remove external from the file."],
  // The path of the compose file on Berth's own machine must not be revealed.
  [
    ["validating /data/stacks/x/compose.json: services.a.networks must be a list"],
    "services.a.networks must be a list.",
  ],
  [[], "the compose tool gave no reason."],
])("says why it failed: %j", (words, sentence) => expect(composeReason(words)).toBe(sentence));

test.each([
  [" Container web-res000000000-dep000000000  Started ", "Container web Started"],
  [" Container berth-dep000000000000000000000-web-2  Created", "Container web-2 Created"],
  ["time=x level=warning msg=y", undefined],
])("tells how far it is: %j", (line, shown) => expect(shownProgress(line)).toBe(shown));

test.each([
  ["unable to get image 'a:b.web': error during connect: Get \"http://x.sock/v1.51/images\": connection reset.", true],
  ["Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?", true],
  ["dial tcp 127.0.0.1:9: connect: connection refused.", false],
  ["port 80 of the server is taken. Choose another one in the compose file.", false],
])("tells a connection that was lost from containers that do not start: %j", (reason, isLost) => {
  expect(isLostConnection(reason)).toBe(isLost);
});
