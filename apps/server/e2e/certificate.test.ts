import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificateIssuer } from "@berth/host";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshBuild } from "../../../tooling/build/fresh.mjs";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import { createApplication, deployFirst, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const HOST = "nobody.example.com";
const DAY_MS = 86_400_000;

interface Summary {
  readonly uuid: string;
  readonly certificate_problem: { readonly reason: string; readonly is_refused: boolean } | null;
}

describeDocker("the certificate of a URL", ["nginx:alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  const page = temporaryRepository({
    Dockerfile: "FROM nginx:alpine\nCOPY index.html /usr/share/nginx/html/\n",
    "index.html": "a page",
  });
  beforeAll(async () => {
    server = await dockerServer(docker, {
      main: join(freshBuild("test-server"), "crash-main.js"),
      // Nothing listens there, so no certificate is asked for anywhere.
      env: { BERTH_CERTIFICATES: "1", BERTH_ACME_DIRECTORY: "https://127.0.0.1:9/directory" },
    });
  });
  afterAll(async () => {
    await server?.dispose();
    page.dispose();
  });

  /** A pair in the folder of the proxy, as an operator puts it there. */
  const put = async (startDays: number, endDays: number) => {
    const notAfter = new Date(Date.now() + endDays * DAY_MS);
    const { certificate, key } = await certificateIssuer.issue({
      names: [HOST],
      notBefore: new Date(Date.now() + startDays * DAY_MS),
      notAfter,
      authority: { name: "Own authority", notAfter },
    });
    const folder = join(server.dataFolder, "servers", server.dockerUuid, "proxy", "certificates");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "own.key"), key);
    writeFileSync(join(folder, "own.crt"), certificate);
    await server.rest("POST", `/servers/${server.dockerUuid}/proxy/restart`);
    return notAfter;
  };

  test("is listed in the overview while the proxy has none, or one that ends", async () => {
    const { uuid } = await createApplication(server, page, {
      server_uuid: server.dockerUuid,
      name: "shop",
      build_pack: "dockerfile",
      ports_exposes: "80",
      domains: `https://${HOST}`,
    });
    await deployFirst(server, uuid);
    const problem = async () => {
      const { body } = await server.rest("GET", "/resources/summaries");
      return (body as Summary[]).find((one) => one.uuid === uuid)?.certificate_problem;
    };
    const missing = await until(problem, { seconds: 60, what: "it is listed" });
    expect(missing).toEqual({
      reason: `The proxy has no certificate for ${HOST}. ${HOST} has no address. Add a DNS record that names the server's address.`,
      is_refused: true,
    });
    const env = { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder };
    const shown = await berth(["app", "shop"], { cwd: server.dataFolder, env });
    expect(shown).toMatchObject({ code: 0, stderr: expect.stringContaining(`no certificate for ${HOST}`) });

    const end = await put(-80, 10);
    const ending = `The certificate of ${HOST} ends on ${end.toISOString().slice(0, 10)} and was not renewed.`;
    await until(async () => (await problem())?.reason.startsWith(ending), { seconds: 120, what: "it ends" });
    expect(await problem()).toMatchObject({ is_refused: false });

    await put(-1, 89);
    await until(async () => (await problem()) === null, { seconds: 120, what: "it is good" });
    const { events } = await server.client.events.list.query({ take: 500 });
    const reported = events.filter((event) => event.type === "resource.certificate_changed");
    expect(new Set(reported.map((event) => event.resource_uuid))).toEqual(new Set([uuid]));
    // Missing, ending, good, and maybe missing once more while the proxy restarted.
    expect(reported.length).toBeGreaterThanOrEqual(3);
  });
});
