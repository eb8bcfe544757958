import { describe, expect, test } from "vitest";
import { foreignFiles, hostPrivileges } from "./host-access.ts";
import { mergeCompose } from "./merge.ts";
import { parseCompose } from "./parse.ts";
import { interpolated } from "./reference.ts";

function read(service: object, rest: object = {}) {
  const compose = parseCompose(JSON.stringify({ services: { web: { image: "nginx", ...service } }, ...rest }));
  return "problems" in compose
    ? { files: compose.problems, powers: [] }
    : { files: foreignFiles(compose.document), powers: hostPrivileges(compose.document, compose.containers) };
}

const bind = (type: string) => ({ volumes: [{ type, source: "/", target: "/host" }] });

describe("a compose file", () => {
  test.each<[string, object, object?]>([
    ["the server's folder", bind("bind")],
    ["the server's folder by a variable", bind("$" + "{KIND:-bind}")],
    ["the server's network", { network_mode: "host" }],
    ["the server's network by its name", { networks: ["up"] }, { networks: { up: { external: true, name: "host" } } }],
    [
      "a network upon the server's interface",
      {},
      { networks: { up: { driver: "macvlan", driver_opts: { parent: "eth0" } } } },
    ],
    [
      "a network that takes the addresses of others from its server",
      { networks: ["up"] },
      { networks: { up: { ipam: { driver: "default", config: [{ subnet: "140.82.112.0/20" }] } } } },
    ],
    ["a build in the server's network", { build: { context: ".", network: "host" } }],
    ["a build with rights", { build: { context: ".", entitlements: ["security.insecure"] } }],
  ])("with %s has privileges on its server", (_, service, rest) => {
    expect(read(service, rest)).toEqual({ files: [], powers: [expect.any(String)] });
  });

  test.each<[string, object]>([
    ["a file that another part of it writes", { extends: { file: "./more.yml", service: "web" } }],
    ["a key of the control plane", { build: { context: ".", ssh: ["default=/root/.ssh/id_ed25519"] } }],
    ["a folder of the control plane, to read", { build: { context: ".", cache_from: ["type=local,src=/etc"] } }],
    ["a folder of the control plane, to write", { build: { context: ".", cache_to: ["type=local,dest=/etc/cron.d"] } }],
    ["a cache that is a variable", { build: { context: ".", cache_to: ["type=$" + "{X:-local},dest=/etc"] } }],
  ])("that names %s is refused", (_, service) => {
    expect(read(service).files).toEqual([expect.stringMatching(/^services\.web\.(extends|build)/)]);
  });

  test("that keeps to itself may have volumes, networks, caches in a registry and services that extend each other", () => {
    const service = {
      extends: { service: "base" },
      build: { context: ".", network: "none", cache_from: ["nginx:1", "type=registry,ref=example.com/a"] },
      volumes: ["data:/data", "./conf:/conf", { type: "tmpfs", target: "/tmp" }, { source: "data", target: "/d" }],
      networks: ["own"],
    };
    const rest = {
      volumes: { data: null },
      networks: { own: { driver: "bridge", ipam: { driver: "default", config: [] } }, theirs: { external: true } },
    };
    expect(read(service, rest)).toEqual({ files: [], powers: [] });
  });

  const TEXTS = [
    "$X",
    "a$X",
    "/a$X",
    "./a$X",
    "$Xa",
    "a:$X",
    "a:/a$X",
    "no-new-privileges$X",
    "service:$X",
    "type=inline$X",
  ];
  const VALUES = [
    ...[
      "/:/host",
      ":/host",
      "/etc:/host:rw",
      ":/",
      "/",
      "../../etc",
      "host",
      "container:a",
      "ALL",
      "true",
      "bind",
      "/dev/mem",
    ],
    ...["=x", ",type=local,dest=/etc", "a", "", "~/x:/y", "macvlan"],
  ];
  const list = [
    "cap_add",
    "devices",
    "security_opt",
    "volumes",
    "volumes_from",
    "device_cgroup_rules",
    "tmpfs",
    "env_file",
  ];
  const plain = [
    "pid",
    "ipc",
    "uts",
    "cgroup",
    "cgroup_parent",
    "userns_mode",
    "network_mode",
    "privileged",
    "label_file",
    "runtime",
    "oom_score_adj",
  ];
  const places = (text: string): readonly (readonly [string, object, object?])[] => [
    ...list.map((key) => [key, { [key]: [text] }] as const),
    ...plain.map((key) => [key, { [key]: text }] as const),
    ["a mount's source", { volumes: [{ source: text, target: "/t" }] }],
    ["a bound source", { volumes: [{ type: "bind", source: text, target: "/t" }] }],
    ["a volume's source", { volumes: [{ type: "volume", source: text, target: "/t" }] }],
    ["a mount's type", { volumes: [{ type: text, source: "/", target: "/t" }] }],
    ["a mount's target", { volumes: [{ type: "tmpfs", target: text }] }],
    ["a build", { build: text }],
    ["a build's file", { build: { context: ".", dockerfile: text } }],
    ["a build's network", { build: { context: ".", network: text } }],
    ["a build's cache", { build: { context: ".", cache_to: [text] } }],
    ["another context", { build: { context: ".", additional_contexts: { a: text } } }],
    ["a hook's rights", { post_start: [{ command: "a", privileged: text }] }],
    ["a network's name", { networks: ["n"] }, { networks: { n: { external: true, name: text } } }],
    ["a network's driver", { networks: ["n"] }, { networks: { n: { driver: text } } }],
    ["a volume's options", { volumes: ["v:/v"] }, { volumes: { v: { driver_opts: { device: text } } } }],
    ["a secret", { secrets: ["s"] }, { secrets: { s: { file: text } } }],
    ["a config", { configs: ["s"] }, { configs: { s: { file: text } } }],
  ];

  test.each(TEXTS)("shows by itself what it may do, whatever the values of its variables: %s", (text) => {
    for (const [place, service, rest] of places(text)) {
      const { files, powers } = read(service, rest);
      if (files.length > 0 || powers.length > 0) continue;
      for (const X of VALUES) {
        const [last, more] = [interpolated(service, { X }), interpolated(rest, { X })] as readonly object[];
        expect([place, X, read(last ?? {}, more)]).toEqual([place, X, { files: [], powers: [] }]);
      }
    }
  });

  test.each(["$X", "/$X", "data$X"])(
    "that mounts %s, which a value may make a folder of the server, has power",
    (text) => {
      expect(read({ volumes: [text] })).toEqual({ files: [], powers: [`services.web.volumes: ${text}`] });
    },
  );

  test.each([
    [{ runtime: "sysbox-runc" }, ["services.web.runtime"]],
    [{ runtime: "runc" }, []],
    [{ oom_score_adj: -500 }, ["services.web.oom_score_adj"]],
    [{ oom_score_adj: "-1" }, ["services.web.oom_score_adj"]],
    [{ oom_score_adj: 500 }, []],
    [{ oom_kill_disable: true }, ["services.web.oom_kill_disable"]],
    [{ oom_kill_disable: "${X:-true}" }, ["services.web.oom_kill_disable"]],
    [{ oom_kill_disable: false }, []],
    [{ gpus: "all" }, []],
    [{ gpus: [{ driver: "cdi", device_ids: ["vendor.com/disk=all"] }] }, ["services.web: devices by their CDI names"]],
    [devices({ driver: "nvidia", count: 1, capabilities: ["gpu"] }), []],
    [devices({ driver: "cdi", device_ids: ["0"] }), ["services.web: devices by their CDI names"]],
    [devices({ device_ids: ["vendor.com/disk=all"] }), ["services.web: devices by their CDI names"]],
  ])("with %j has the powers %j", (service, powers) => {
    expect(read(service).powers).toEqual(powers);
  });

  const OWN = "services: { web: { image: nginx, volumes: [data:/data], privileged: false } }\nvolumes: { data: }";
  test.each([
    ["volumes: ['/:/data']", "services.web.volumes: /"],
    ["volumes: !override ['/etc:/etc']", "services.web.volumes: /etc"],
    ["privileged: !override true", "services.web.privileged"],
    ["privileged: true", "services.web.privileged"],
    ["network_mode: host", "services.web.network_mode"],
    ["devices: [/dev/mem:/dev/mem]", "services.web.devices"],
    ["build: { context: ., privileged: true }", "services.web.privileged"],
  ])("has a power that a file behind the first one asks for: %s", (said, power) => {
    for (const files of [
      [OWN, `services: { web: { ${said} } }`],
      [OWN, `services: { web: { ${said} } }`, "services:"],
    ]) {
      const merged = mergeCompose(files.map((text, index) => ({ path: String(index), text })));
      const whole = "text" in merged ? JSON.parse(merged.text) : {};
      expect(read(whole.services.web, { volumes: whole.volumes }).powers).toEqual([power]);
    }
  });

  test.each([
    "include: [a.yaml]",
    "services: { web: { extends: { file: ../a, service: b } } }",
    "services: { web: { env_file: /etc/passwd } }",
    "secrets: { a: { file: ../../a } }",
  ])("is refused for what a file behind the first one names: %s", (said) => {
    const merged = mergeCompose([OWN, said].map((text, index) => ({ path: String(index), text })));
    expect(parseCompose("text" in merged ? merged.text : "")).toEqual({ problems: [expect.any(String)] });
  });
});

function devices(device: object) {
  return { deploy: { resources: { reservations: { devices: [device] } } } };
}
