import { describe, expect, test } from "vitest";
import { foreignFiles, hostPowers } from "./host-access.ts";
import { parseCompose } from "./parse.ts";

function read(service: object, rest: object = {}) {
  const compose = parseCompose(JSON.stringify({ services: { web: { image: "nginx", ...service } }, ...rest }));
  return "problems" in compose
    ? { files: compose.problems, powers: [] }
    : { files: foreignFiles(compose.document), powers: hostPowers(compose.document, compose.containers) };
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
    ["a build in the server's network", { build: { context: ".", network: "host" } }],
    ["a build with rights", { build: { context: ".", entitlements: ["security.insecure"] } }],
  ])("with %s has power over its server", (_, service, rest) => {
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
    const rest = { volumes: { data: null }, networks: { own: { driver: "bridge" }, theirs: { external: true } } };
    expect(read(service, rest)).toEqual({ files: [], powers: [] });
  });
});
