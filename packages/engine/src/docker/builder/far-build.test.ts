import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DOCKER_SOCKET, dockerClient } from "@berth/docker-client";
import type { SshHost } from "@berth/host";
import { assertTook, describeDocker, eventually, took, until } from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limitFiles } from "../../cgroup-limits.ts";
import { farHost, SERVER_IMAGE, type TestServer, testServer } from "../server.fixture.ts";
import { limitBuilds } from "./build-group.ts";
import { buildImage } from "./build-image.ts";
import type { BuildPlace } from "./build-place.ts";
import type { BuildTarget } from "./build-target.ts";

describeDocker("a build on a server over SSH", [SERVER_IMAGE, "busybox:stable"], (fixture) => {
  let folder: string;
  let server: TestServer;
  let host: SshHost;
  let far: Docker;
  const lines: string[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-far-build-"));
    server = await testServer(fixture);
    host = farHost(server, join(folder, "bridges"));
    far = dockerClient(host);
    await eventually(() => far.ping());
    const loading = await far.loadImage(await fixture.client.getImage("busybox:stable").get());
    for await (const _ of loading);
  });
  afterAll(async () => {
    await host.close();
    rmSync(folder, { recursive: true, force: true });
  });

  let count = 0;
  const build = async (
    files: Readonly<Record<string, string>>,
    more: Partial<BuildTarget> = {},
    { signal = new AbortController().signal, ...place }: Partial<BuildPlace> & { readonly signal?: AbortSignal } = {},
  ): Promise<string> => {
    count += 1;
    const context = join(folder, `source-${count}`);
    mkdirSync(context);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(context, name), text);
    const image = `berth/far:${count}`;
    const target: BuildTarget = {
      context,
      dockerfile: join(context, "Dockerfile"),
      target: null,
      image,
      labels: { a: "b" },
      args: {},
      secrets: {},
      secretFiles: {},
      isForced: false,
      ...more,
    };
    const io = { signal, onLine: (line: string) => void lines.push(line) };
    await buildImage(target, io, { host, socketPath: DOCKER_SOCKET, logins: new Map(), ...place });
    return image;
  };
  const output = async (image: string): Promise<string> => {
    const container = await far.createContainer({ Image: image, Tty: true });
    const stream = await container.attach({ stream: true, stdout: true });
    await container.start();
    let text = "";
    for await (const chunk of stream) text += chunk.toString();
    return text;
  };
  const running = async (mark: string): Promise<boolean> =>
    (await server.container.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline"])).output.includes(mark);

  test("takes the context, arguments and secrets there, and what it makes lies there", async () => {
    const text = "x".repeat(3 << 20);
    const image = await build(
      {
        Dockerfile: [
          "FROM busybox:stable",
          "ARG GREETING",
          "COPY large /large",
          "RUN --mount=type=secret,id=TOKEN wc -c </run/secrets/TOKEN >/out; wc -c </large >>/out; echo $GREETING >>/out",
          'CMD ["cat","/out"]',
        ].join("\n"),
        large: text,
      },
      { args: { GREETING: "hello" }, secrets: { TOKEN: "c4n4ry" } },
    );
    expect((await output(image)).split(/\s+/)).toEqual(["6", String(text.length), "hello", ""]);
    const { Config } = await far.getImage(image).inspect();
    expect(Config.Labels).toMatchObject({ a: "b" });
    expect(JSON.stringify(await far.getImage(image).history())).not.toContain("c4n4ry");
    expect(lines.join("\n")).not.toContain("c4n4ry");
  });

  test("does all that a compose text says of it", async () => {
    const shared = join(folder, "shared");
    mkdirSync(shared);
    writeFileSync(join(shared, "a.txt"), "shared");
    const image = await build(
      {
        Dockerfile: [
          "FROM busybox:stable",
          "COPY --from=shared a.txt /",
          "RUN grep host.example /etc/hosts; df -k /dev/shm | tail -1 | awk '{print $2}' >/out; ulimit -n >>/out; cat /a.txt >>/out",
          'CMD ["cat","/out"]',
        ].join("\n"),
      },
      {
        more: {
          contexts: { shared },
          extra_hosts: ["host.example:host-gateway"],
          shm_size: "8m",
          ulimits: { nofile: { soft: 100, hard: 200 } },
        },
      },
    );
    expect((await output(image)).split(/\s+/)).toEqual(["8192", "100", "shared"]);
    expect(lines.some((line) => /^\d+\.\d+\.\d+\.\d+\s+host\.example/.test(line))).toBe(true);
  });

  test("that is cancelled has ended there within 5 seconds", async () => {
    const abort = new AbortController();
    const mark = `7${Date.now()}`;
    const building = build({ Dockerfile: `FROM busybox:stable\nRUN sleep ${mark}` }, {}, { signal: abort.signal });
    building.catch(() => undefined);
    await eventually(async () => expect(await running(mark)).toBe(true));
    const ended = async () => {
      abort.abort();
      await expect(building).rejects.toMatchObject({ code: "deploy.cancelled" });
      await until(async () => !(await running(mark)));
    };
    await assertTook(await took(ended), 5000);
  });

  test("takes no more of the server than its share, and says so when it would", async () => {
    const shares = { memory: 1, cpu: 50 };
    const { group } = await limitBuilds({ host, docker: far, shares });
    const { MemTotal, NCPU } = await far.info();
    const memoryBytes = Math.floor(MemTotal / 100);
    const guard = { privateHosts: [], folder: join(folder, "guarded") };
    const image = await build(
      { Dockerfile: 'FROM busybox:stable\nRUN cat /proc/self/cgroup >/out\nCMD ["cat","/out"]' },
      {},
      { group },
    );
    const groups = await output(image);
    const isOne = !groups.startsWith("0::");
    // With version 2 a step sees its own group as the root of all.
    if (isOne) expect(groups).toContain("/berth/builds/buildkit/");
    const files = limitFiles(isOne ? 1 : 2, { memoryBytes, cpus: NCPU / 2, processesMax: 8192 });
    for (const [controller, values] of Object.entries(files)) {
      for (const [name, value] of Object.entries(values)) {
        const path = `/sys/fs/cgroup/${isOne ? `${controller}/` : ""}berth/builds/${name}`;
        const read = (await server.container.exec(["cat", path])).output.trim();
        const rounded = name.startsWith("memory") ? Math.abs(Number(read) - memoryBytes) < 4096 : read === value;
        expect([name, read, rounded]).toEqual([name, read, true]);
      }
    }
    for (const place of [{ group }, { group, guard }]) {
      const bomb = build({ Dockerfile: "FROM busybox:stable\nRUN tail /dev/zero" }, {}, place);
      await expect(bomb).rejects.toMatchObject({
        code: "deploy.build_failed",
        message: expect.stringContaining("BERTH_BUILD_MEMORY_PERCENT"),
      });
    }
  });

  test("keeps its steps for the next build, with limits and without a change of them", async () => {
    const files = {
      Dockerfile: 'FROM busybox:stable\nRUN head -c 8 /dev/urandom | od -An -tx1 >/out\nCMD ["cat","/out"]',
    };
    const made: string[] = [];
    for (const memory of [50, 60]) {
      const { group } = await limitBuilds({ host, docker: far, shares: { memory, cpu: 100 } });
      made.push(await output(await build(files, {}, { group })));
    }
    expect(made[0]).toBe(made[1]);
  });

  test("is without limits where its user may make no group, and says so", async () => {
    const shares = { memory: 50, cpu: 100 };
    const refusing = { ...host, run: async () => ({ exitCode: 1, output: "", isTruncated: false, isTimedOut: false }) };
    expect(await limitBuilds({ host: refusing, docker: far, shares })).toEqual({
      group: undefined,
      gap: expect.stringContaining("Connect Berth to the server as root."),
    });
  });
});
