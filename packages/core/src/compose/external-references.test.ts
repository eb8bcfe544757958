import { describe, expect, test } from "vitest";
import { externalReferences } from "./external-references.ts";
import { parseCompose } from "./parse.ts";

function named(service: object, rest: object = {}) {
  const compose = parseCompose(
    JSON.stringify({ services: { web: { image: "nginx", ...service }, db: { image: "x" } }, ...rest }),
  );
  if ("problems" in compose) throw new Error(compose.problems.join(" "));
  return externalReferences(compose.document).map(({ type, name }) => `${type} ${name}`);
}

describe("of its server a compose text names", () => {
  test.each<[string, object, object, readonly string[]]>([
    ["an external network", {}, { networks: { other: { external: true } } }, ["network other"]],
    ["one by its name", {}, { networks: { up: { external: true, name: "other" } } }, ["network other"]],
    ["an external volume", {}, { volumes: { other: { external: true } } }, ["volume other"]],
    ["a volume by its name", {}, { volumes: { d: { external: true, name: "other" } } }, ["volume other"]],
    ["what is external as text", {}, { volumes: { other: { external: "yes" } } }, ["volume other"]],
    ["what a variable makes external", {}, { networks: { other: { external: `\${E:-true}` } } }, ["network other"]],
    ["what is external in the old form", {}, { volumes: { other: { external: {} } } }, ["volume other"]],
    ["a network as a mode", { network_mode: "other" }, {}, ["network other"]],
    ["the network of a container", { network_mode: "container:other" }, {}, ["container other"]],
    ["the processes of a container", { pid: "container:/other" }, {}, ["container other"]],
    ["the memory of a container", { ipc: "container:other" }, {}, ["container other"]],
    ["the volumes of a container", { volumes_from: ["container:other:ro", "db:rw"] }, {}, ["container other"]],
    ["containers as links", { external_links: ["other", "third:db"] }, {}, ["container other", "container third"]],
  ])("%s", (_what, service, rest, expected) => {
    expect(named(service, rest)).toEqual(expected);
  });

  test("nothing by what is its own", () => {
    const service = {
      network_mode: "service:db",
      pid: "service:db",
      ipc: "shareable",
      volumes_from: ["db"],
      links: ["db"],
      volumes: ["data:/data"],
    };
    const rest = {
      networks: { own: { name: "other", external: `\${E:-false}` } },
      volumes: { data: { name: "other", external: "no" } },
    };
    expect(named(service, rest)).toEqual([]);
    expect(["none", "host", "bridge", "default"].flatMap((network_mode) => named({ network_mode }))).toEqual([]);
  });
});
