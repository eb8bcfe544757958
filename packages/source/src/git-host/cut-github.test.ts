import { OriginCredential } from "@berth/core";
import { type CutClient, cutsOf, describeCuts, relay, startGithubServer } from "@berth/testing";
import { githubHost } from "./github.ts";

/** More than are written. */
const REPOSITORIES = 5_000;
/** Three pages. */
const BRANCHES = Array.from({ length: 250 }, (_, n) => `branch-${n}`);

describeCuts("a connection to the API of a git host", { open, codes: ["git_host.failed"], rounds: 30 });

/** Each request issues a token, so a call that was made twice issued two. */
async function open(): Promise<CutClient> {
  const server = await startGithubServer({
    repositories: Array.from({ length: REPOSITORIES }, (_, n) => ({
      id: n + 1,
      fullName: `acme/r${n}`,
      branches: n === 0 ? BRANCHES : [],
    })),
  });
  const way = await relay({ host: "127.0.0.1", port: Number(new URL(server.url).port) });
  const apiUrl = `http://127.0.0.1:${way.port}`;
  const { appId, installationId, privateKey } = server;
  const login = { apiUrl, appId, installationId, privateKey: new OriginCredential([apiUrl], privateKey) };
  const host = githubHost({ allowedPrivateHosts: ["127.0.0.1"] });
  return {
    cuts: cutsOf(way),
    write: (number) => host.readToken(login, number),
    written: async () => server.tokens.flatMap(({ repositoryIds = [] }) => repositoryIds),
    async read(onBegun) {
      const reading = host.branches(login, { owner: "acme", name: "r0" });
      setImmediate(onBegun);
      return (await reading).length === BRANCHES.length;
    },
    async close() {
      await way.close();
      await server.close();
    },
  };
}
