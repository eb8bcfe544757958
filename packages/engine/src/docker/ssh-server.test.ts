import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DOCKER_SOCKET, dockerClient, engineError } from "@berth/docker-client";
import type { SshHost, SshHostOptions } from "@berth/host";
import { run } from "@berth/host";
import { describeDocker, eventually } from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { farHost, SERVER_IMAGE, type TestServer, testServer } from "./server.fixture.ts";
import { serverMachine } from "./server-machine.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SECONDS = 1000;

describeDocker("servers over SSH", [SERVER_IMAGE, "busybox:stable"], (docker) => {
  let folder: string;
  const hosts: SshHost[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-far-"));
  });
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    rmSync(folder, { recursive: true, force: true });
  });

  const hostOf = (server: TestServer, options: Partial<SshHostOptions> = {}): SshHost => {
    const host = farHost(server, join(folder, "bridges"), options);
    hosts.push(host);
    return host;
  };
  const machineOf = (host: SshHost, timeoutSeconds = 20) =>
    serverMachine({
      host,
      user: () => "root",
      retryNow: () => host.retryNow(),
      reconnect: async () => {},
      timeoutSeconds,
    });

  describe("with an engine of its own", () => {
    let server: TestServer;
    let host: SshHost;
    let far: Docker;
    beforeAll(async () => {
      server = await testServer(docker);
      host = hostOf(server);
      far = dockerClient(host);
      await eventually(() => far.ping());
      const image = docker.client.getImage("busybox:stable");
      await far.loadImage(await image.get());
    });

    const started = async (...argv: string[]) => {
      const container = await far.createContainer({ Image: "busybox:stable", Cmd: argv, HostConfig: { Init: true } });
      await container.start();
      return container;
    };

    test("says what it is made of", async () => {
      const progress: unknown[] = [];
      const found = await machineOf(host).inspect(({ facts }) => progress.push(facts?.engine_version));
      expect(progress).toEqual([undefined, found.facts?.engine_version]);
      expect(found).toMatchObject({
        machineProblem: null,
        engineProblem: null,
        osType: "linux",
        facts: {
          engine_version: expect.stringMatching(/^\d+\./),
          operating_system: expect.stringContaining("Debian"),
          architecture: expect.stringMatching(/^(amd64|arm64)$/),
          cpus: expect.any(Number),
        },
        disk: { totalBytes: expect.any(Number), freeBytes: expect.any(Number) },
      });
      expect(found.disk?.totalBytes).toBeGreaterThan(found.disk?.freeBytes ?? 0);
      await machineOf(host).ping(AbortSignal.timeout(10 * SECONDS));
    });

    test("follows forty logs at once on one connection", async () => {
      const container = await started("sh", "-c", "while :; do echo tick; sleep 0.2; done");
      const seen = new Set<number>();
      const streams = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const stream = await container.logs({ follow: true, stdout: true, stderr: true, tail: 0 });
          stream.on("data", () => seen.add(index));
          stream.on("error", () => {});
          return stream;
        }),
      );
      await eventually(() => expect(seen.size).toBe(40));
      const { State } = await container.inspect();
      expect(State.Running).toBe(true);
      for (const stream of streams) (stream as unknown as { destroy(): void }).destroy();
      await container.remove({ force: true });
    });

    test("answers what only reads also when the connection dies under it", async () => {
      await far.ping();
      // The request is in progress when all of sshd's connections are cut.
      const asked = far.info();
      await cut(server);
      expect(await asked).toMatchObject({ OSType: "linux" });
    });

    test("reports of a change in flight that its outcome is unknown, and keeps working", async () => {
      const container = await started("sleep", "300");
      // The server waits for the container's end.
      const waiting = container.wait().catch((error: unknown) => engineError("far", error));
      await far.ping();
      await cut(server);
      expect(await waiting).toMatchObject({ code: "engine.unreachable" });
      await eventually(async () => expect((await container.inspect()).State.Running).toBe(true));
      await container.remove({ force: true });
    });

    test("serves the docker program over a socket of this machine", async () => {
      const bridge = await host.socketBridge(DOCKER_SOCKET);
      const env = { PATH, DOCKER_HOST: `unix://${bridge}`, HOME: folder };
      const { exitCode, output } = await run(["docker", "version", "--format", "{{.Server.Version}}"], { env });
      const { Version } = await far.version();
      expect([exitCode, output.trim()]).toEqual([0, Version]);
      const attached = await run(["docker", "run", "--rm", "-i", "busybox:stable", "wc", "-c"], {
        env,
        stdin: "12345",
      });
      expect([attached.exitCode, attached.output.trim()]).toEqual([0, "5"]);
    });

    test("reaches a container by its own address", async () => {
      const container = await started("httpd", "-f", "-p", "8080");
      const { NetworkSettings } = await container.inspect();
      const address = { host: NetworkSettings.Networks.bridge?.IPAddress ?? "", port: 8080 };
      const channel = await eventually(() => host.connectTcp(address));
      channel.write("GET / HTTP/1.0\r\n\r\n");
      const [head] = await Promise.race([onceData(channel), delay(10 * SECONDS).then(() => [""])]);
      expect(String(head)).toMatch(/^HTTP\/1/);
      channel.destroy();
      await container.remove({ force: true });
    });

    test("tells that the engine was stopped, and that it runs again", async () => {
      // Inspected from outside, since process 1 cannot be stopped from inside.
      const { State } = await server.container.container.inspect();
      process.kill(State.Pid, "SIGSTOP");
      const frozen = await machineOf(host, 3).inspect();
      process.kill(State.Pid, "SIGCONT");
      expect(frozen).toMatchObject({
        machineProblem: null,
        engineProblem: expect.stringContaining("does not answer: it took too long"),
        facts: null,
      });
      const mended = await eventually(async () => {
        const found = await machineOf(host).inspect();
        expect(found.engineProblem).toBeNull();
        return found;
      });
      expect(mended.facts).not.toBeNull();
    });
  });

  describe("without an engine", () => {
    test("is told from one that cannot be reached", async () => {
      const server = await testServer(docker, { withEngine: false });
      const host = hostOf(server);
      const inspected = () => machineOf(host).inspect();
      const found = await eventually(async () => {
        const seen = await inspected();
        expect(seen.machineProblem).toBeNull();
        return seen;
      });
      expect(found).toMatchObject({ engineProblem: expect.stringMatching(/^Socket .* does not exist/), facts: null });
      await server.container.container.stop({ t: 0 });
      const gone = await machineOf(hostOf(server, { connectTimeoutSeconds: 2 })).inspect();
      expect(gone.machineProblem).toMatch(/did not answer within 2 s|No route to|refused/);
    });

    test("gets Docker from its own system's packages when asked", async () => {
      const server = await testServer(docker, { withEngine: false });
      // Docker's start script of Debian raises its limits, which a container may not do.
      const script = [
        "apt-get remove --yes docker.io docker-cli containerd runc >/dev/null 2>&1",
        "sed -i 's/^[ \\t]*ulimit/: ulimit/' /etc/init.d/docker",
        "command -v dockerd",
      ].join("; ");
      expect((await server.container.exec(["sh", "-c", script])).output).toBe("");
      const host = hostOf(server);
      const machine = machineOf(host);
      const lines: string[] = [];
      const steps: string[] = [];
      await machine.installEngine({
        onStep: ({ name, command }) => void steps.push(`${name}: ${command.split(" ").slice(0, 1).join()}`),
        onLine: (line) => void lines.push(line),
      });
      expect(steps).toEqual(["Package lists: apt-get", "Packages: apt-get", "Start: service"]);
      expect(lines).toContain("$ apt-get -o DPkg::Lock::Timeout=300 update");
      expect(lines.some((line) => line.startsWith("Setting up docker.io"))).toBe(true);
      await eventually(async () => {
        expect(await machine.inspect()).toMatchObject({ engineProblem: null, facts: { architecture: "amd64" } });
      });
    });
  });
});

/** Ends all connections of a server's sshd, like a network failure. */
async function cut({ container }: TestServer): Promise<void> {
  // Spares the listener, which is another program.
  const script =
    "for p in /proc/[0-9]*; do case $(readlink $p/exe) in */sshd-session) kill -9 $(basename $p);; esac; done";
  await container.exec(["sh", "-c", script]);
}

const onceData = (stream: NodeJS.ReadableStream): Promise<unknown[]> =>
  new Promise((resolve) => stream.once("data", (chunk: unknown) => resolve([chunk])));
