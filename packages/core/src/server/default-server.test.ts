import { expect, test } from "vitest";
import { defaultServers } from "./default-server.ts";

interface Wish {
  readonly isOwn?: boolean;
  readonly isBuildServer?: boolean;
  readonly answers?: boolean;
}

const server = (
  name: string,
  engine: "process" | "docker",
  { isOwn = true, isBuildServer = false, answers = true }: Wish = {},
) => ({
  ...{ name, engine, is_coolify_host: isOwn },
  settings: { is_build_server: isBuildServer, is_reachable: answers, is_usable: true },
});
const LOCALHOST = server("localhost", "process");
const DOCKER = server("docker", "docker");
const SILENT = server("silent", "docker", { answers: false });
const WEB = server("web-1", "docker", { isOwn: false });
const BUILDER = server("builder", "docker", { isOwn: false, isBuildServer: true });

test.each<[string, ReturnType<typeof server>[], string, string]>([
  ["the engine of processes where it is alone", [LOCALHOST], "localhost", ""],
  ["Docker where it answers", [LOCALHOST, DOCKER], "docker", "docker"],
  ["Docker whatever the order", [DOCKER, LOCALHOST], "docker", "docker"],
  ["no Docker that does not answer, unless containers are needed", [SILENT, LOCALHOST], "localhost", "silent"],
  ["no build server", [LOCALHOST, DOCKER, BUILDER], "docker", "docker"],
  ["the only machine of a team", [WEB], "web-1", "web-1"],
  ["the only one with containers, where they are needed", [LOCALHOST, WEB], "localhost web-1", "web-1"],
  ["nothing by guessing where machines were added", [DOCKER, LOCALHOST, WEB], "docker localhost web-1", "docker web-1"],
  ["nothing where there is nothing", [BUILDER], "", ""],
])("the default is %s", (_title, servers, ofAny, ofContainers) => {
  const names = (needsContainers: boolean) =>
    defaultServers(servers, { needsContainers })
      .map(({ name }) => name)
      .join(" ");
  expect([names(false), names(true)]).toEqual([ofAny, ofContainers]);
});
