import { describe, expect, test } from "vitest";
import type { ServerFacts } from "../ports/records.ts";
import { chooseBuildServer } from "./build-server.ts";
import { ServerSettings } from "./server-settings.ts";

const facts = (architecture: string): ServerFacts => ({
  engine_version: "28.0.0",
  api_version: "1.48",
  operating_system: "Debian",
  kernel_version: "6.1",
  architecture,
  cpus: 2,
  memory_bytes: 1,
  disk_total_bytes: null,
  disk_free_bytes: null,
});
const USABLE = { is_build_server: true, is_reachable: true, is_usable: true };

const server = (id: number, settings: Partial<ServerSettings> = {}, more: object = {}) => ({
  id,
  name: `server ${id}`,
  team_id: 1,
  engine: "docker" as const,
  removing_at: null,
  server_metadata: facts("amd64"),
  settings: ServerSettings.parse({ ...USABLE, ...settings }),
  ...more,
});
const target = server(9, { is_build_server: false });
const choose = (
  servers: ReturnType<typeof server>[],
  builds: readonly [number, number][] = [],
  before: number | null = null,
) => chooseBuildServer({ target, servers: [target, ...servers], activeBuilds: new Map(builds), before });

describe("the build server of a deployment", () => {
  test.each([
    ["the only one", [server(1)], [], null, 1],
    [
      "the one with the fewest builds",
      [server(1), server(2)],
      [
        [1, 2],
        [2, 1],
      ],
      null,
      2,
    ],
    [
      "the oldest of those with equally many",
      [server(2), server(1)],
      [
        [1, 1],
        [2, 1],
      ],
      null,
      1,
    ],
    [
      "one that has a place, however few builds fill another one",
      [server(1, { concurrent_builds: 1 }), server(2, { concurrent_builds: 9 })],
      [
        [1, 1],
        [2, 5],
      ],
      null,
      2,
    ],
    ["the one from before, however busy", [server(1), server(2)], [[2, 9]], 2, 2],
    ["another one when that from before is gone", [server(1)], [], 2, 1],
    ["another one when that from before does not answer", [server(1), server(2, { is_reachable: false })], [], 2, 1],
    ["one whose machine was never looked at", [server(1, {}, { server_metadata: null })], [], null, 1],
  ] as const)("is %s", (_, servers, builds, before, expected) => {
    expect(
      choose(
        [...servers],
        builds.map(([id, count]) => [id, count]),
        before,
      ).server?.id,
    ).toBe(expected);
  });

  test.each([
    ["of another team", server(1, {}, { team_id: 2 }), "has no build server"],
    ["that is no build server", server(1, { is_build_server: false }), "has no build server"],
    ["without containers", server(1, {}, { engine: "process" }), "has no build server"],
    ["that does not answer", server(1, { is_reachable: false }), "no build server of the team is usable"],
    ["that is not usable", server(1, { is_usable: false }), "no build server of the team is usable"],
    ["that is disabled", server(1, { force_disabled: true }), "no build server of the team is usable"],
    ["that is being removed", server(1, {}, { removing_at: new Date(0) }), "no build server of the team is usable"],
    [
      "of another architecture",
      server(1, {}, { server_metadata: facts("arm64") }),
      "has the architecture of server server 9",
    ],
  ])("is none %s, and the reason is told", (_, only, reason) => {
    expect(choose([only])).toMatchObject({ server: undefined, reason: expect.stringContaining(reason) });
  });
});
