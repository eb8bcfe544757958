import { readFileSync } from "node:fs";
import { localHost } from "@berth/host";
import { describeDocker } from "@berth/testing";
import { afterAll, expect, test } from "vitest";
import { limitFiles } from "../../cgroup-limits.ts";
import { limitBuilds } from "./build-group.ts";
import { imageSuite } from "./image.fixture.ts";

describeDocker("limits of builds on an engine before 23", ["busybox:stable"], ({ client }) => {
  const suite = imageSuite();
  const host = localHost("here");
  const shares = { memory: 75, cpu: 100 };
  afterAll(() => suite.close());

  test("are those of its own group of builds", async (context) => {
    const { ServerVersion, CgroupDriver, CgroupVersion = "1", MemTotal } = await client.info();
    const isMeant = Number.parseInt(ServerVersion, 10) < 23 && CgroupDriver === "cgroupfs" && CgroupVersion === "1";
    if (!isMeant) {
      const reason = `NOT_SUPPORTED old engine: this one is ${ServerVersion} with ${CgroupDriver} ${CgroupVersion}`;
      console.log(reason);
      return context.skip(reason);
    }
    expect(await limitBuilds({ host, docker: client, shares })).toEqual({ group: undefined, gap: undefined });
    const memoryBytes = Math.floor(MemTotal * 0.75);
    const files = limitFiles(1, { memoryBytes, cpus: null, processesMax: 8192 });
    const group = (controller: string, name: string) =>
      Number(readFileSync(`/sys/fs/cgroup/${controller}/docker/buildkit/${name}`, "utf8"));
    expect(group("pids", "pids.max")).toBe(Number(files.pids["pids.max"]));
    expect(Math.abs(group("memory", "memory.limit_in_bytes") - memoryBytes)).toBeLessThan(4096);
    const { image } = await suite.build({
      Dockerfile: 'FROM busybox:stable\nRUN cat /proc/self/cgroup >/out\nCMD ["cat","/out"]',
    });
    expect(await suite.output(image)).toMatch(/^\d+:memory:.*\/docker\/buildkit\//m);
  });

  test("are missing where the engine leaves its groups to systemd, and that is said", async () => {
    const docker = Object.assign(Object.create(client) as typeof client, {
      info: async () => ({ ServerVersion: "20.10.24", CgroupDriver: "systemd", MemTotal: 1 << 30, NCPU: 2 }),
    });
    expect(await limitBuilds({ host, docker, shares })).toEqual({
      group: undefined,
      gap: "Builds on server here have no limits of memory, CPU and processes: Docker 20.10.24 cannot limit them. Upgrade to Docker 23 or newer.",
    });
  });
});
