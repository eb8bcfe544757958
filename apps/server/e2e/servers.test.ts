import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.dispose());

type Job = Awaited<ReturnType<TestServer["client"]["jobs"]["get"]["query"]>>;

const ended = async (uuid: string | undefined): Promise<Job> => {
  const look = () => server.client.jobs.get.query({ uuid: uuid ?? "" });
  await expect.poll(async () => (await look()).finished_at).not.toBeNull();
  return look();
};

describe("a real server", () => {
  test("validates the machine that it runs on", async () => {
    const [local] = await server.client.servers.list.query({});
    const uuid = local?.uuid ?? "";
    const { job_uuid } = await server.client.servers.validate.mutate({ uuid });
    expect(await ended(job_uuid)).toMatchObject({ type: "server.validate", status: "finished", error: null });
    expect(await server.client.servers.get.query({ uuid })).toMatchObject({
      is_validating: false,
      settings: { is_reachable: true, is_usable: true },
    });
  });

  test("says why a server cannot be reached, and deletes it with what is on it", async () => {
    const { privateKey } = generateKeyPairSync("ed25519", {
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    const key = await server.client.privateKeys.create.mutate({ private_key: privateKey });
    const made = await server.client.servers.create.mutate({
      // Where nothing listens.
      ip: "127.0.0.7",
      port: 9,
      private_key_uuid: key.uuid,
      instant_validate: true,
    });
    const [validation] = await server.client.jobs.list.query({ subject: made.uuid });
    expect(await ended(validation?.uuid)).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/refused the connection on 127\.0\.0\.7, port 9\. Check that sshd runs there/),
    });
    const [project] = await server.client.projects.list.query({});
    const { uuid } = await server.client.services.create.mutate({
      project_uuid: project?.uuid ?? "",
      environment_name: "production",
      server_uuid: made.uuid,
      docker_compose: "services:\n  web:\n    image: nginx\n",
    });
    expect(await server.client.servers.resources.query({ uuid: made.uuid })).toMatchObject([{ uuid }]);
    const refused = await server.rest("DELETE", `/servers/${made.uuid}`);
    expect(refused.status).toBe(400);
    const { job_uuid } = await server.client.servers.delete.mutate({ uuid: made.uuid, force: true });
    expect(await ended(job_uuid)).toMatchObject({ type: "server.delete", status: "finished" });
    expect((await server.rest("GET", `/servers/${made.uuid}`)).status).toBe(404);
    expect((await server.rest("GET", `/services/${uuid}`)).status).toBe(404);
  });
});
