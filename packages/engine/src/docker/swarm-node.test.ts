import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerClient } from "@berth/docker-client";
import type { SshHost } from "@berth/host";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inspectServer } from "./inspect-server.ts";
import { farHost, SERVER_IMAGE, type TestServer, testServer } from "./server.fixture.ts";

describeDocker("the node of a Docker Swarm", [SERVER_IMAGE], (docker) => {
  let folder: string;
  let manager: { readonly server: TestServer; readonly host: SshHost };
  let worker: { readonly server: TestServer; readonly host: SshHost };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-nodes-"));
    [manager, worker] = await Promise.all([opened(), opened()]);
  });
  afterAll(async () => {
    await Promise.all([manager?.host.close(), worker?.host.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  async function opened() {
    const server = await testServer(docker);
    const host = farHost(server, join(folder, server.ip));
    const client = dockerClient(host);
    await eventually(() => client.ping());
    return { server, host };
  }

  const ran = async ({ server }: { readonly server: TestServer }, ...argv: string[]) => {
    const { exitCode, output } = await server.container.exec(["docker", ...argv]);
    if (exitCode !== 0) throw new Error(output);
    return output.trim();
  };
  const inspected = async ({ host }: { readonly host: SshHost }) =>
    (await inspectServer(host, { signal: AbortSignal.timeout(60_000) })).swarm;

  test("is found on managers and workers, and no more once they left", async () => {
    expect(await inspected(manager)).toBeNull();
    await ran(manager, "swarm", "init", "--advertise-addr", manager.server.ip);
    const clusterId = await ran(manager, "info", "--format", "{{.Swarm.Cluster.ID}}");
    const alone = await inspected(manager);
    expect(alone).toMatchObject({ isManager: true, clusterId, managerCount: 1 });
    expect(clusterId).not.toBe("");

    const token = await ran(manager, "swarm", "join-token", "--quiet", "worker");
    await ran(worker, "swarm", "join", "--token", token, `${manager.server.ip}:2377`);
    const managers = [{ nodeId: alone?.nodeId, address: manager.server.ip }];
    const joined = await eventually(async () => {
      const node = await inspected(worker);
      expect(node).toMatchObject({ isManager: false, clusterId: null, managers });
      return node;
    });
    expect(joined?.nodeId).not.toBe(alone?.nodeId);

    await ran(worker, "swarm", "leave");
    await eventually(async () => expect(await inspected(worker)).toBeNull());
  });

  test("is a manager of an unknown cluster while it has no leader", async () => {
    const token = await ran(manager, "swarm", "join-token", "--quiet", "manager");
    await ran(worker, "swarm", "join", "--token", token, `${manager.server.ip}:2377`);
    await eventually(async () => expect(await inspected(manager)).toMatchObject({ managerCount: 2 }));
    await worker.server.container.container.kill();
    const leaderless = { isManager: true, clusterId: null, managerCount: 0 };
    await eventually(async () => expect(await inspected(manager)).toMatchObject(leaderless));
  });
});
