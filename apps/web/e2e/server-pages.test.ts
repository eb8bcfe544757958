import type { TestServer } from "../../server/e2e/server.fixture.ts";
import { describePages } from "./pages.fixture.ts";

describePages("the pages of servers and for what is new", {}, pathsOf);

async function pathsOf({ client }: TestServer) {
  const [server] = await client.servers.list.query({});
  const machine = `/servers/${server?.uuid}`;
  const tabs = (of: string, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, `${of}/${name}`]));
  return {
    new: "/new",
    ...tabs("/new", ["folder", "git", "template", "database", "image", "compose"]),
    server: machine,
    ...tabs(machine, ["proxy", "cleanup", "jobs", "metrics"]),
    "server-settings": `${machine}/settings`,
    "server-variables": `${machine}/variables`,
  };
}
