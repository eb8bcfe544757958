import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRunOptions } from "@berth/core/application";
import type { ReleaseSpec, StorageMount } from "@berth/core/deploy";
import { dockerClient } from "@berth/docker-client";
import type { Host } from "@berth/host";
import { localHost } from "@berth/host";
import { describeDocker, eventually } from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NO_CONTAINER_OPTIONS } from "./container.ts";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";
import type { DockerEngine } from "./engine.ts";
import { startRelease } from "./start.ts";
import { volumeName } from "./volumes.ts";

const uuid = () => randomBytes(8).toString("hex");

describeDocker("a container of a release", IMAGES, (fixture) => {
  let world: DockerWorld;
  let engine: DockerEngine;
  const folder = mkdtempSync(join(tmpdir(), "berth-start-"));

  beforeAll(async () => {
    world = dockerWorld(fixture);
    engine = await world.engine();
  });
  afterAll(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const spec = async (change: Partial<ReleaseSpec> = {}) => specOf(await world.image(), change);
  const started = async (change: Partial<ReleaseSpec> = {}) => {
    const made = await spec(change);
    await engine.start(made, io());
    return made;
  };
  const container = (
    change: Partial<NonNullable<ReleaseSpec["container"]>>,
  ): NonNullable<ReleaseSpec["container"]> => ({
    ...NO_CONTAINER_OPTIONS,
    ...change,
  });
  const sh = async (of: ReleaseSpec, script: string) => {
    const { exitCode, output } = await engine.exec(of, script, { timeoutSeconds: 20 });
    expect([exitCode, output]).toEqual([0, output]);
    return output.trim();
  };
  const infoOf = async (of: ReleaseSpec) => {
    const [found] = await world.containersOf(of);
    return await world.docker.getContainer(found?.Id ?? "").inspect();
  };
  const get = (url: string) => eventually(async () => await (await fetch(url)).text());

  test("is made again when an attempt that lost its connection has it removed late", async () => {
    const made = await spec();
    const docker = Object.create(world.docker) as typeof world.docker;
    let removed = 0;
    docker.getContainer = (id) => {
      const container = world.docker.getContainer(id);
      const start = container.start.bind(container);
      container.start = async () => {
        if (removed > 0) return await start();
        removed += 1;
        await container.remove({ force: true });
        return await start();
      };
      return container;
    };
    docker.createContainer = async (options: Docker.ContainerCreateOptions) =>
      docker.getContainer((await world.docker.createContainer(options)).id);
    const place = {
      host: localHost("here"),
      docker,
      instance: world.instance,
      network: await fixture.network(),
      seen: undefined,
    };
    await startRelease(place, made, io());
    expect([removed, (await infoOf(made)).State.Running]).toEqual([1, true]);
  });

  test("believes nothing that its image says of it in Berth's own labels", async () => {
    const [victim, theirName] = [await started(), fixture.name("theirs")];
    const forged = {
      ...{ managed: "true", instance: world.instance, role: "release", kind: "database", name: "theirs" },
      ...{ resource: victim.resourceUuid, deployment: victim.deploymentUuid, storage: "x", spec: "x", version: "x" },
      ...{ container: "db", order: "7", excluded: "true", replicas: "2", scope: victim.resourceUuid, port: "1" },
      "lasting-name": theirName,
    };
    const labels = Object.entries(forged).map(([name, value]) => `berth.${name}=${value}`);
    const image = await world.image(`LABEL ${labels.join(" ")}`);
    const made = specOf(image);
    const state = await engine.start(made, io());
    expect(state).toMatchObject({ resourceUuid: made.resourceUuid, deploymentUuid: made.deploymentUuid });
    expect(state.upstream?.port).toBe(made.ports[0]);
    expect(state.containers ?? state.containerName).toBeUndefined();
    await engine.takeName(made);
    expect((await infoOf(made)).Name).toBe(`/${made.resourceUuid}-${made.deploymentUuid}`);
    expect(await world.containersOf(victim)).toHaveLength(1);
    await engine.removeResource(made.resourceUuid, { deleteVolumes: true });
    expect(await engine.inspect(made)).toBeUndefined();
    expect((await engine.inspect(victim))?.state).toBe("running");
  });

  test("has no published port unless it is asked for, and then that one", async () => {
    const plain = await started();
    expect((await infoOf(plain)).NetworkSettings.Ports).toEqual({ "3000/tcp": null });
    const serverPort = await freePort();
    const mapped = await started({ container: container({ portMappings: [{ serverPort, containerPort: 3000 }] }) });
    expect(await get(`http://127.0.0.1:${serverPort}/env?name=PORT`)).toBe('"3000"');
    const second = await spec({ container: container({ portMappings: [{ serverPort, containerPort: 3000 }] }) });
    await expect(engine.start(second, io())).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: expect.stringContaining(`port ${serverPort} of the server is taken`),
    });
    // A failed start leaves nothing behind.
    expect(await world.containersOf(second)).toEqual([]);
    await engine.remove(mapped, { graceSeconds: 1 });
  });

  test("joins the network of its destination: others do not reach it, and the server does", async () => {
    const networks = [fixture.name("front"), fixture.name("back")];
    const [front, back] = await Promise.all(networks.map((network) => started({ network })));
    if (front === undefined || back === undefined) throw new Error("They were not started.");
    const addressOf = async (of: ReleaseSpec) => (await engine.inspect(of))?.upstream?.host;
    const reaches = async (from: ReleaseSpec, host: string | undefined) => {
      const script = `node -e 'fetch("http://${host}:3000/pid", { signal: AbortSignal.timeout(2000) }).then((a) => console.log(a.status), () => console.log("no")).then(() => process.exit())'`;
      return await sh(from, script);
    };
    expect(Object.keys((await infoOf(back)).NetworkSettings.Networks)).toEqual([networks[1]]);
    // The proxy is in the server's own network too.
    for (const release of [front, back]) expect(await get(`http://${await addressOf(release)}:3000/pid`)).toMatch(/\d/);
    expect(await reaches(front, await addressOf(back))).toBe("no");
    expect(await reaches(back, await addressOf(front))).toBe("no");
    expect(await reaches(back, await addressOf(back))).toBe("200");
    // A release that joined another network later is still reached in its first one.
    const [network] = networks;
    const { Id } = await infoOf(back);
    const before = await engine.inspect(back);
    await world.docker.getNetwork(network ?? "").connect({ Container: Id });
    expect((await engine.inspect(back))?.upstream).toEqual(before?.upstream);
  });

  test("is found by its aliases from other containers of the network", async () => {
    const alias = `alias-${uuid()}`;
    await started({ container: container({ networkAliases: [alias] }) });
    const other = await started();
    const script = `node -e 'fetch("http://${alias}:3000/pid").then((a) => console.log(a.status))'`;
    await eventually(async () => expect(await sh(other, script)).toBe("200"));
  });

  test("keeps within its limits", async () => {
    const made = await started({
      limits: { memoryBytes: 64 << 20, cpus: 0.5 },
      container: container({
        limits: {
          memorySwapBytes: 128 << 20,
          memorySwappiness: null,
          memoryReservationBytes: 32 << 20,
          cpuset: "0",
          cpuShares: 512,
        },
        run: readRunOptions("--pids-limit 50 --ulimit nofile=100:200 --shm-size 8m --tmpfs /scratch:size=4m").options,
      }),
    });
    const { HostConfig } = await infoOf(made);
    expect(HostConfig).toMatchObject({
      Memory: 64 << 20,
      MemorySwap: 128 << 20,
      NanoCpus: 500_000_000,
      CpusetCpus: "0",
      CpuShares: 512,
      PidsLimit: 50,
      Ulimits: [{ Name: "nofile", Soft: 100, Hard: 200 }],
    });
    // The soft limit of a command is raised to the hard one by some versions of runc, when the machine is busy.
    expect(await sh(made, "ulimit -Hn")).toBe("200");
    expect(await sh(made, "nproc")).toBe("1");
    expect(await sh(made, "df -k /dev/shm | tail -1")).toContain(" 8192 ");
  });

  test("sees its image's HEALTHCHECK, unless the application has another check", async () => {
    const image = await world.image(
      "HEALTHCHECK --interval=3s --retries=1 CMD test -e /tmp/well || { echo not well; exit 1; }",
    );
    const own = specOf(image);
    expect((await engine.start(own, io())).health).toBe("starting");
    await eventually(async () => expect((await engine.inspect(own))?.health).toBe("unhealthy"));
    expect((await engine.inspect(own))?.healthOutput).toBe("not well");
    await sh(own, "touch /tmp/well");
    await eventually(async () => expect((await engine.inspect(own))?.health).toBe("healthy"));
    expect(await engine.inspect(own)).not.toHaveProperty("healthOutput");
    const other = specOf(image, { container: container({ hasImageHealthCheck: false }) });
    expect(await engine.start(other, io())).not.toHaveProperty("health");
  });

  describe("its storages", () => {
    const volume = (more: object = {}): StorageMount => ({
      ...{ type: "volume", uuid: uuid(), name: "data", mountPath: "/app/data" },
      ...more,
    });

    test("are refused when one that held data is gone, with what to do, and nothing is made", async () => {
      const mount = volume({ isRecorded: true });
      const made = await spec({ storages: [mount] });
      await expect(engine.start(made, io())).rejects.toMatchObject({
        code: "deploy.start_failed",
        message: expect.stringMatching(
          new RegExp(`data is missing.* Restore it as the volume ${volumeName(mount.uuid)} `),
        ),
      });
      expect(await world.containersOf(made)).toEqual([]);
      await engine.start({ ...made, storages: [{ ...mount, isRecorded: false } as StorageMount] }, io());
      await engine.remove(made, { graceSeconds: 1 });
      await engine.start(made, io());
    });

    test("are never somebody else's, neither for a start nor for a removal", async () => {
      const mount = volume();
      const made = await spec({ storages: [mount] });
      const Name = volumeName(mount.uuid);
      await world.docker.createVolume({ Name, Labels: { ...fixture.labels } });
      await expect(engine.start(made, io())).rejects.toMatchObject({
        message: expect.stringContaining("does not belong to the storage data"),
      });
      await engine.removeVolumes(made.resourceUuid, [mount]);
      await engine.removeResource(made.resourceUuid, { deleteVolumes: true });
      expect((await world.docker.getVolume(Name).inspect()).Name).toBe(Name);
    });

    test("of another resource stay when one is removed with its own", async () => {
      const [mine, theirs] = [volume(), volume()];
      const one = await started({ storages: [mine] });
      const two = await started({ storages: [theirs] });
      await engine.removeVolumes(one.resourceUuid, [theirs]);
      await engine.removeResource(one.resourceUuid, { deleteVolumes: true });
      await expect(world.docker.getVolume(volumeName(mine.uuid)).inspect()).rejects.toMatchObject({ statusCode: 404 });
      expect((await world.docker.getVolume(volumeName(theirs.uuid)).inspect()).Name).toBe(volumeName(theirs.uuid));
      expect((await engine.inspect(two))?.state).toBe("running");
    });

    test("that are folders of the server are made when they are missing, and not written to when only read", async () => {
      const hostPath = join(folder, `made-${uuid()}`, "below");
      const mount = { type: "folder", uuid: uuid(), name: "conf", mountPath: "/conf", hostPath } as const;
      // Several folders are missing, one of them with a path that engines report differently.
      const others = ["/logs", "/cache"].map((mountPath) => {
        const missing = `${join(folder, `made-${uuid()}`)}//below/`;
        return { type: "folder", uuid: uuid(), name: "more", mountPath, hostPath: missing } as const;
      });
      const made = await started({ storages: [mount, ...others] });
      await sh(made, "echo written > /conf/file");
      expect(readFileSync(join(hostPath, "file"), "utf8")).toBe("written\n");
      const reader = await started({ storages: [{ ...mount, isReadOnly: true }] });
      expect((await engine.exec(reader, "echo x > /conf/file", { timeoutSeconds: 20 })).exitCode).not.toBe(0);
    });

    test("that are files belong to the image's user and lie nowhere else on the server", async () => {
      const image = await world.image("USER node");
      const secret = `secret-${uuid()}`;
      const file = {
        type: "file",
        uuid: uuid(),
        name: "conf",
        mountPath: `/app/${"long/".repeat(30)}x`,
        content: secret,
      } as const;
      const made = specOf(image, { storages: [file] });
      await engine.start(made, io());
      expect(await sh(made, `cat ${file.mountPath} && stat -c ' %U %a' ${file.mountPath}`)).toBe(`${secret} node 644`);
      await sh(made, `echo changed > ${file.mountPath}`);
      const { Mounts } = await infoOf(made);
      expect(Mounts).toEqual([]);
    });

    test("that are files are put there without reading all that an image gives out as its table of users", async () => {
      const long = "import('node:fs').then((fs) => fs.appendFileSync('/etc/passwd', '# a comment\\n'.repeat(3e6)))";
      const image = await world.image(`RUN ["node", "-e", ${JSON.stringify(long)}]`, "USER node");
      const sockets: Socket[] = [];
      const local = localHost("test");
      const host: Host = {
        ...local,
        async connectSocket(path, signal) {
          const socket = await local.connectSocket(path, signal);
          if (socket instanceof Socket) sockets.push(socket);
          return socket;
        },
      };
      const own = await world.engine({ host, docker: dockerClient(host) });
      const file = { type: "file", uuid: uuid(), name: "conf", mountPath: "/app/conf", content: "x" } as const;
      const made = specOf(image, { storages: [file] });
      await own.start(made, io());
      expect(await sh(made, "stat -c '%u' /app/conf")).toBe(await sh(made, "id -u"));
      expect(sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBeLessThan(10_000_000);
    });
  });

  test("continues as it was started where that is asked for, and not where nothing of it is there", async () => {
    const made = await started({ env: { MODE: "old" } });
    const before = (await infoOf(made)).Id;
    expect(await engine.resume(made)).toMatchObject({ state: "running" });
    await engine.stop(made, { graceSeconds: 1 });
    expect(await engine.resume(made)).toMatchObject({ state: "running" });
    expect([(await infoOf(made)).Id, await sh(made, 'echo "$MODE"')]).toEqual([before, "old"]);
    await engine.remove(made, { graceSeconds: 1 });
    expect(await engine.resume(made)).toBeUndefined();
  });

  test("that is asked for with other settings is made anew once it has stopped", async () => {
    const made = await started();
    const before = (await infoOf(made)).Id;
    await engine.stop(made, { graceSeconds: 1 });
    await engine.start(made, io());
    expect((await infoOf(made)).Id).toBe(before);
    await engine.stop(made, { graceSeconds: 1 });
    await engine.start({ ...made, env: { NEW: "1" } }, io());
    expect((await infoOf(made)).Id).not.toBe(before);
    expect(await sh(made, 'echo "$NEW"')).toBe("1");
  });

  test("says what is missing in words", async () => {
    const gone = specOf({ type: "image", image: `nobody/${uuid()}:1` });
    await expect(engine.start(gone, io())).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: expect.stringContaining("is no longer on the server. Deploy again."),
    });
    const run = readRunOptions("--entrypoint /no/such/program --init=false").options;
    const odd = await spec({ container: container({ run }) });
    await expect(engine.start(odd, io())).rejects.toMatchObject({
      message: expect.stringContaining("its image has no program /no/such/program"),
    });
    expect(await world.containersOf(odd)).toEqual([]);
  });

  test("never takes the name of a container that Berth did not make", async () => {
    const made = await spec();
    const name = `${made.resourceUuid}-${made.deploymentUuid}`;
    const foreign = await fixture.container({ image: "node:24-alpine", name, argv: ["sleep", "600"] });
    await expect(engine.start(made, io())).rejects.toMatchObject({
      message: expect.stringContaining("A container that Berth did not create has the name"),
    });
    expect(await engine.inspect(made)).toBeUndefined();
    await engine.remove(made);
    expect((await world.docker.getContainer(foreign.id).inspect()).State.Running).toBe(true);
  });

  test("is not made when it is cancelled before", async () => {
    const made = await spec();
    await expect(engine.start(made, io(AbortSignal.abort()))).rejects.toMatchObject({ code: "deploy.cancelled" });
    expect(await world.containersOf(made)).toEqual([]);
  });

  test("makes its network when that is missing, as Berth's own", async () => {
    const network = fixture.name("own");
    const other = await world.engine({ network });
    const made = await spec();
    await other.start(made, io());
    const { Labels } = await world.docker.getNetwork(network).inspect();
    expect(Labels).toMatchObject({ "berth.managed": "true", "berth.instance": world.instance });
    await other.remove(made, { graceSeconds: 1 });
  });

  test("executes nothing that is hidden in any text of its spec", async () => {
    const marker = join(folder, "marker");
    for (const attack of attacks(marker)) {
      const made = await spec({
        name: attack,
        env: { ATTACK: attack, LD_AUDIT: "", PS4: attack },
        storages: [
          { type: "volume", uuid: uuid(), name: attack, mountPath: `/v/${attack.replace(/[:\p{Cc}]|\.\./gu, "_")}` },
          {
            type: "file",
            uuid: uuid(),
            name: attack,
            mountPath: `/f/${attack.replace(/[\0/]/g, "_")}`,
            content: attack,
          },
        ],
        container: container({ labels: { [attack]: attack }, networkAliases: [attack.replace(/\W/g, "-")] }),
      });
      await engine.start(made, io());
      expect(JSON.parse(await get(`http://${(await engine.inspect(made))?.upstream?.host}:3000/env?name=ATTACK`))).toBe(
        attack,
      );
      expect(await sh(made, `ls -d ${marker} 2>/dev/null || true`)).toBe("");
      await engine.exec(made, attack.replaceAll(marker, "/tmp/inside"), { timeoutSeconds: 5 });
      await engine.remove(made, { graceSeconds: 0 });
    }
    expect(existsSync(marker)).toBe(false);
  });
});

const attacks = (marker: string): readonly string[] => [
  `$(touch ${marker})`,
  `\`touch ${marker}\``,
  `'; touch ${marker}; '`,
  `"\n touch ${marker}\n"`,
  `--volume=/:/host --privileged`,
  `-v /:/host;touch ${marker}`,
  `../../../..${marker}`,
  `a\u202Eb\u0000c`.replace("\0", ""),
  `{"Privileged":true},"x":"`,
];

/** A currently unused port. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
