import { describe, expect, test } from "vitest";
import { type BuildTarget, frontendOptions, needsHostGateway } from "./build-target.ts";

const TARGET: BuildTarget = {
  context: "/src",
  dockerfile: "/job/Dockerfile",
  target: null,
  image: "berth/a:b",
  labels: { "berth.managed": "true" },
  args: {},
  secrets: {},
  secretFiles: {},
  isForced: false,
};
const demand = (more: Partial<BuildTarget>, gateway?: string) => frontendOptions({ ...TARGET, ...more }, gateway);

describe("what BuildKit is asked for", () => {
  test("is the Dockerfile with its arguments, labels and stage", () => {
    expect(demand({ target: "one", args: { A: "x=y, z" }, isForced: true })).toEqual({
      frontend: "dockerfile.v0",
      attributes: {
        filename: "Dockerfile",
        "image-resolve-mode": "local",
        target: "one",
        "no-cache": "",
        "label:berth.managed": "true",
        "build-arg:A": "x=y, z",
      },
      folders: {
        context: { path: "/src" },
        dockerfile: { path: "/job", only: ["Dockerfile", "Dockerfile.dockerignore"] },
      },
      entitlements: [],
      isCacheInlined: false,
    });
  });

  test("never holds the value of a secret", () => {
    const { attributes } = demand({ secrets: { A: "c4n4ry" }, secretFiles: { b: "/job/c4n4ry" } });
    expect(JSON.stringify(attributes)).not.toContain("c4n4ry");
  });

  test("gives of the Dockerfile's folder that file alone, whatever its name means in a pattern", () => {
    expect(demand({ dockerfile: "/job/!*.file" }).folders.dockerfile?.only).toEqual([
      "\\!\\*.file",
      "\\!\\*.file.dockerignore",
    ]);
  });

  test("names a context elsewhere, with its own Dockerfile or one of ours", () => {
    const context = "https://git.example/a.git#main";
    const { attributes, folders } = demand({ context, dockerfile: "sub/Dockerfile" });
    expect(attributes).toMatchObject({ context, filename: "sub/Dockerfile" });
    expect(folders).toEqual({});
    expect(demand({ context }).attributes).toMatchObject({ context, dockerfilekey: "dockerfile" });
  });

  test("takes a frontend of the application's own", () => {
    const { frontend, attributes } = demand({ args: { BUILDKIT_SYNTAX: "example/frontend:1 --x" } });
    expect(frontend).toBe("gateway.v0");
    expect(attributes).toMatchObject({ source: "example/frontend:1", cmdline: "example/frontend:1 --x" });
  });

  test("names further contexts, which never take the place of the build's own", () => {
    const { attributes, folders } = demand({
      more: { contexts: { shared: "/shared", context: "/other", base: "docker-image://alpine:3" } },
    });
    expect(attributes).toMatchObject({
      "context:shared": "local:shared",
      "context:context": "local:_context",
      "context:base": "docker-image://alpine:3",
      "frontend.caps": "moby.buildkit.frontend.contexts+forward",
    });
    expect(folders).toMatchObject({
      context: { path: "/src" },
      shared: { path: "/shared" },
      _context: { path: "/other" },
    });
  });

  test.each([
    [{ extra_hosts: ["a:1.2.3.4", "b=::1", "c:[::2]"] }, { "add-hosts": "a=1.2.3.4,b=::1,c=::2" }],
    [{ extra_hosts: { a: "1.2.3.4", b: ["1.1.1.1", "2.2.2.2"] } }, { "add-hosts": "a=1.2.3.4,b=1.1.1.1,b=2.2.2.2" }],
    [{ extra_hosts: ["host:host-gateway"] }, { "add-hosts": "host=172.17.0.1" }],
    [{ shm_size: "64m" }, { "shm-size": "67108864" }],
    [{ shm_size: 1024 }, { "shm-size": "1024" }],
    [{ ulimits: { nproc: 65_535, nofile: { soft: 10, hard: 20 } } }, { ulimit: "nproc=65535:65535,nofile=10:20" }],
    [{ network: "none" }, { "force-network-mode": "none" }],
    [
      { cache_from: ["a/b:c", "type=registry,ref=d"] },
      {
        "cache-imports": '[{"Type":"registry","Attrs":{"ref":"a/b:c"}},{"Type":"registry","Attrs":{"ref":"d"}}]',
      },
    ],
  ])("has what a compose text says of a build: %j", (more, expected) => {
    expect(demand({ more }, "172.17.0.1").attributes).toMatchObject(expected);
  });

  test("asks for the privileges on the server's network, and for a cache in the image, only when told to", () => {
    expect(demand({ more: { network: "host" } })).toMatchObject({
      attributes: { "force-network-mode": "host" },
      entitlements: ["network.host"],
    });
    expect(demand({ more: { cache_to: ["type=inline"] } }).isCacheInlined).toBe(true);
    expect(demand({ more: { cache_to: ["type=registry,ref=x"] } }).isCacheInlined).toBe(false);
    expect(() => demand({ more: { network: "mine" } })).toThrow("BuildKit knows host, none and default");
  });

  test("looks for base images anew when told to", () => {
    expect(demand({ isPulled: true }).attributes["image-resolve-mode"]).toBe("pull");
  });

  test("asks for the host's address only where it is wanted, and refuses without it", () => {
    const more = { extra_hosts: ["host:host-gateway"] };
    expect([needsHostGateway(TARGET), needsHostGateway({ ...TARGET, more })]).toEqual([false, true]);
    expect(() => demand({ more })).toThrow("does not report the address of host-gateway");
    expect(() => demand({ more: { shm_size: "much" } })).toThrow("much is not a size");
  });
});
