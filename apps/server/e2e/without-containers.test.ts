import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApplication, deploy, get, outcomeOf, plainServer, temporaryRepository } from "./applications.fixture.ts";
import { freePorts, type TestServer, testServer } from "./server.fixture.ts";

let server: TestServer;
const source = temporaryRepository(plainServer("1"));
beforeAll(async () => {
  server = await testServer();
});
afterAll(async () => {
  await server?.dispose();
  source.dispose();
});

interface Kept {
  readonly images: readonly { readonly tag: string; readonly is_current: boolean; readonly deployment_uuid: string }[];
}
const keptOf = async (uuid: string) =>
  ((await server.rest("GET", `/applications/${uuid}/rollback-images`)).body as Kept).images;

async function finished(uuid: string) {
  const outcome = await deploy(server, uuid);
  expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  return outcome;
}

describe("an application without containers", () => {
  test("is taken back to what it was before, and keeps as many builds as it is set to", async () => {
    const { uuid, host } = await createApplication(server, source, { name: "back", docker_images_to_keep: 1 });
    const versions = ["1", "2", "3"];
    const deployments: string[] = [];
    for (const version of versions) {
      source.commit(plainServer(version), `Version ${version}`);
      deployments.push((await finished(uuid)).uuid);
    }
    expect((await get(server, host)).body).toBe("3");
    const kept = [deployments[2], deployments[1]].join();
    const isKept = async () => (await keptOf(uuid)).map(({ deployment_uuid }) => deployment_uuid).join() === kept;
    await until(isKept, { what: "the newest build before it is kept alone" });

    const { status, body } = await server.rest("POST", `/applications/${uuid}/rollback`, { commit: deployments[1] });
    expect([status, body]).toEqual([200, expect.objectContaining({ deployment_uuid: expect.any(String) })]);
    await until(async () => (await get(server, host)).body === "2", { what: "the second version answers again" });
    const gone = await server.rest("POST", `/applications/${uuid}/rollback`, { commit: deployments[0] });
    expect(gone.status).toBe(422);
  });

  test("takes its requests on the port of ports_exposes when it ignores PORT, deployment after deployment", async () => {
    const [port = ""] = await freePorts(1);
    const files = (version: string) => ({
      ...plainServer(version),
      "server.js": `require("http").createServer((_request, answer) => answer.end("${version}")).listen(${port});`,
    });
    const fixed = temporaryRepository(files("fixed 1"));
    try {
      const { uuid, host } = await createApplication(server, fixed, {
        name: "fixed",
        ports_exposes: String(port),
        is_preview_deployments_enabled: true,
      });
      expect((await finished(uuid)).log).toContain(`It listens on port ${port} of ports_exposes`);
      expect((await get(server, host)).body).toBe("fixed 1");
      fixed.commit(files("fixed 2"), "Again");
      expect((await finished(uuid)).log).toContain(`only one can hold port ${port} of the server`);
      expect((await get(server, host)).body).toBe("fixed 2");
      // The port belongs to the application: a preview that insists on it fails, whether it is held or not.
      const preview = async (id: number) => {
        fixed.git("update-ref", `refs/pull/${id}/head`, "HEAD");
        const { body } = await server.rest("POST", `/deploy?uuid=${uuid}&pull_request_id=${id}`);
        const [entry] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
        return await outcomeOf(server, entry?.deployment_uuid ?? "");
      };
      const remedy = "Let it listen on the port in PORT, such as by $PORT in the start command";
      const refused = await preview(7);
      expect(refused, refused.log).toMatchObject({ status: "failed" });
      expect(refused.log).toContain(`The port that it insists on is taken by the application itself. ${remedy}`);
      expect((await get(server, host)).body).toBe("fixed 2");
      await server.rest("POST", `/applications/${uuid}/stop`);
      await until(async () => (await get(server, host)).status !== 200, { what: "the application is stopped" });
      const late = await preview(8);
      expect(late, late.log).toMatchObject({ status: "failed" });
      expect(late.log).toContain(`listens on port ${port}, which belongs to the application itself. ${remedy}`);
      const { body } = await server.rest("POST", `/applications/${uuid}/start`);
      const again = await outcomeOf(server, (body as { deployment_uuid: string }).deployment_uuid);
      expect(again, again.log).toMatchObject({ status: "finished" });
      expect((await get(server, host)).body).toBe("fixed 2");

      // One that listens on PORT runs beside the application, which keeps its own.
      fixed.commit(
        { "server.js": files("preview")["server.js"].replace(String(port), "process.env.PORT") },
        "Listen on the port in PORT",
      );
      const beside = await preview(9);
      expect(beside, beside.log).toMatchObject({ status: "finished" });
      expect((await get(server, `9.${host}`)).body).toBe("preview");
      expect((await get(server, host)).body).toBe("fixed 2");
    } finally {
      fixed.dispose();
    }
  });
});
