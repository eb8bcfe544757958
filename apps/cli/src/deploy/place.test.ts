import { describe, expect, test } from "vitest";
import { Failure } from "../failure.ts";
import { chooseServer, type PlacedKind } from "./place.ts";

const server = (name: string, engine: "process" | "docker", isOwn: boolean, isBuildServer = false) => ({
  ...{ uuid: name, name, engine, is_coolify_host: isOwn, swarm_cluster: null },
  settings: { is_build_server: isBuildServer, is_reachable: true, is_usable: true },
});
const LOCALHOST = server("localhost", "process", true);
const DOCKER = server("docker", "docker", true);
const WEB = server("web-1", "docker", false);
const BUILDER = server("builder", "docker", false, true);
type Servers = readonly ReturnType<typeof server>[];

function chosen(servers: Servers, kind: PlacedKind, wanted?: string): string {
  try {
    return chooseServer(servers, wanted, kind).name;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}

describe("the server of something new", () => {
  test.each<[PlacedKind, Servers, string]>([
    ["application", [LOCALHOST], "localhost"],
    ["application", [LOCALHOST, DOCKER], "docker"],
    ["application", [LOCALHOST, DOCKER, BUILDER], "docker"],
    ["image", [LOCALHOST, DOCKER], "docker"],
    ["database", [LOCALHOST, DOCKER], "docker"],
    ["service", [LOCALHOST, WEB, BUILDER], "web-1"],
  ])("of the kind %s goes without saying among %j", (kind, servers, name) => {
    expect(chosen(servers, kind)).toBe(name);
  });

  test("is asked for where servers were added", () => {
    expect(chosen([LOCALHOST, WEB], "application")).toBe("There are 2 servers. Choose one with --server:");
    expect(chosen([LOCALHOST, DOCKER, WEB], "database")).toBe("There are 2 servers. Choose one with --server:");
    expect(chosen([LOCALHOST, WEB], "application", "WEB-1")).toBe("web-1");
  });

  test("has Docker, or that is said", () => {
    expect(chosen([LOCALHOST], "database")).toBe("No server with Docker was found, and a database needs one.");
    expect(chosen([LOCALHOST], "image")).toBe("No server with Docker was found, and an image needs one.");
  });
});
