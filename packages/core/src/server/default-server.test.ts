import { expect, test } from "vitest";
import { defaultServers } from "./default-server.ts";
import type { EngineKind } from "./server-settings.ts";

interface Wish {
  readonly isOwn?: boolean;
  readonly isBuildServer?: boolean;
  readonly answers?: boolean;
  readonly cluster?: number;
}

const server = (
  name: string,
  engine: EngineKind,
  { isOwn = true, isBuildServer = false, answers = true, cluster }: Wish = {},
) => ({
  ...{ name, engine, is_coolify_host: isOwn, swarm_cluster: cluster ?? null },
  settings: { is_build_server: isBuildServer, is_reachable: answers, is_usable: true },
});
const LOCALHOST = server("localhost", "process");
const DOCKER = server("docker", "docker");
const SILENT = server("silent", "docker", { answers: false });
const WEB = server("web-1", "docker", { isOwn: false });
const BUILDER = server("builder", "docker", { isOwn: false, isBuildServer: true });
const MANAGER = server("manager", "swarm", { isOwn: false, cluster: 7 });
const NODE = server("node", "docker", { isOwn: false, cluster: 7 });
const OTHER_NODE = server("other", "docker", { isOwn: false, cluster: 8 });

test.each<[string, ReturnType<typeof server>[], string, string]>([
  ["the engine of processes where it is alone", [LOCALHOST], "localhost", ""],
  ["Docker where it answers", [LOCALHOST, DOCKER], "docker", "docker"],
  ["Docker whatever the order", [DOCKER, LOCALHOST], "docker", "docker"],
  ["no Docker that does not answer, unless containers are needed", [SILENT, LOCALHOST], "localhost", "silent"],
  ["no build server", [LOCALHOST, DOCKER, BUILDER], "docker", "docker"],
  ["the only machine of a team", [WEB], "web-1", "web-1"],
  ["the only one with containers, where they are needed", [LOCALHOST, WEB], "localhost web-1", "web-1"],
  ["nothing by guessing where machines were added", [DOCKER, LOCALHOST, WEB], "docker localhost web-1", "docker web-1"],
  ["the manager of a cluster, not its other nodes", [NODE, MANAGER], "manager", "manager"],
  ["a node of a cluster that no server drives", [NODE], "node", "node"],
  ["a node of another cluster", [OTHER_NODE, MANAGER], "other manager", "other manager"],
  ["nothing where there is nothing", [BUILDER], "", ""],
])("the default is %s", (_title, servers, ofAny, ofContainers) => {
  const names = (needsContainers: boolean) =>
    defaultServers(servers, { needsContainers })
      .map(({ name }) => name)
      .join(" ");
  expect([names(false), names(true)]).toEqual([ofAny, ofContainers]);
});
