import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { DomainError } from "@berth/core";
import { dockerClient } from "@berth/docker-client";
import { sshHost } from "@berth/host";
import { hasSshd, makeSshd } from "@berth/host/testing";
import { describeDocker, eventually } from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandIn } from "./command.ts";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";

const signal = () => new AbortController().signal;

/** An engine whose program writes given output. Returns the requested commands as well. */
function fakeEngine(begin: () => Promise<PassThrough>) {
  const asked: (readonly string[])[] = [];
  const container = {
    inspect: async () => ({ State: { StartedAt: "once" } }),
    exec: async ({ Cmd }: { readonly Cmd: readonly string[] }) => {
      asked.push(Cmd);
      const start = asked.length === 1 ? begin : async () => new PassThrough().end();
      return { start, inspect: async () => ({ Running: true, ExitCode: null }) };
    },
  };
  // The only method that is called here.
  return { asked, docker: { getContainer: () => container } as unknown as Docker };
}
const framed = (stream: 1 | 2, text: string) =>
  Buffer.concat([Buffer.from([stream, 0, 0, 0, 0, 0, 0, text.length]), Buffer.from(text)]);

test("a program that is aborted while the engine is asked to begin it is killed, and not waited for", async () => {
  const stop = new AbortController();
  const program = new PassThrough();
  const { asked, docker } = fakeEngine(async () => {
    stop.abort();
    program.write(framed(2, "4711\n"));
    return program;
  });
  const running = commandIn(docker, "x", { argv: ["sleep", "600"], variables: {} }, { signal: stop.signal });
  await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
  expect(asked.map((argv) => argv.includes("4711"))).toEqual([false, true]);
});

test("a program whose reader fails before its process id arrives is killed all the same", async () => {
  const program = new PassThrough();
  const { asked, docker } = fakeEngine(async () => program);
  const full = new Error("The disk is full.");
  const output = async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const _ of chunks) {
      setImmediate(() => program.write(framed(2, "4711\n")));
      throw full;
    }
  };
  const running = commandIn(docker, "x", { argv: ["yes"], variables: {} }, { signal: signal(), output });
  program.write(framed(1, "y\n".repeat(100)));
  await expect(running).rejects.toBe(full);
  expect(asked.map((argv) => argv.includes("4711"))).toEqual([false, true]);
});

describeDocker("a program in a container", IMAGES, (fixture) => {
  let world: DockerWorld;
  let engine: Awaited<ReturnType<DockerWorld["engine"]>>;
  let spec: ReturnType<typeof specOf>;
  beforeAll(async () => {
    world = dockerWorld(fixture);
    engine = await world.engine();
    spec = specOf(await world.image());
    await engine.start(spec, io());
  });
  afterAll(() => world.close());

  const collected = () => {
    const chunks: Uint8Array[] = [];
    const output = async (read: AsyncIterable<Uint8Array>) => {
      for await (const chunk of read) chunks.push(Buffer.from(chunk));
    };
    return { output, bytes: () => Buffer.concat(chunks) };
  };
  const count = async (what: string) => {
    const [found] = await world.containersOf(spec);
    const { Processes } = await world.docker.getContainer(found?.Id ?? "").top();
    // The other columns are numbers, which might contain the searched text by chance.
    return (Processes as readonly string[][]).filter((row) => row.at(-1)?.includes(what)).length;
  };

  test("takes its input and gives its output byte for byte", async () => {
    const data = randomBytes(3_000_000);
    const { output, bytes } = collected();
    async function* input() {
      for (let at = 0; at < data.length; at += 70_001) yield data.subarray(at, at + 70_001);
    }
    const command = { argv: ["cat"], variables: {} } as const;
    const result = await engine.containers.command(spec, command, { signal: signal(), input: input(), output });
    expect(result).toEqual({ exitCode: 0, errors: [] });
    const hash = (value: Uint8Array) => createHash("sha256").update(value).digest("hex");
    expect(hash(bytes())).toBe(hash(data));
  });

  test("gets its arguments as they are, its secrets by variables and a file that nobody else reads and that goes", async () => {
    const { output, bytes } = collected();
    const path = "/run/secret file";
    const script =
      'echo "$1|$PASSWORD|$(stat -c %a "$2")|$(cat "$2")|$(env | grep -c BERTH_FILE)"; echo why >&2; exit 3';
    const command = {
      argv: ["sh", "-c", script, "sh", "a b; $(touch /x)", path],
      variables: { PASSWORD: "p 'w\" $d" },
      file: { path, text: "login: $x\n%s" },
    } as const;
    const result = await engine.containers.command(spec, command, { signal: signal(), output });
    expect(result).toEqual({ exitCode: 3, errors: ["why"] });
    expect(bytes().toString()).toBe("a b; $(touch /x)|p 'w\" $d|600|login: $x\n%s|0\n");
    const after = await engine.exec(spec, 'ls "/run/secret file" /x', { timeoutSeconds: 10 });
    expect(after.exitCode).not.toBe(0);
  });

  test("is killed, and its file with it, when it is aborted, and when its reader or its input fails", async () => {
    const file = { path: "/run/login", text: "x" };
    const stop = new AbortController();
    const sleep = { argv: ["sleep", "7531"], variables: {}, file } as const;
    const running = engine.containers.command(spec, sleep, { signal: stop.signal });
    await eventually(async () => expect(await count("sleep 7531")).toBeGreaterThan(0));
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
    await eventually(async () => expect(await count("7531")).toBe(0));
    expect((await engine.exec(spec, "ls /run/login", { timeoutSeconds: 10 })).exitCode).not.toBe(0);

    const endless = { argv: ["yes", "7532"], variables: {} } as const;
    const full = new DomainError("engine.failed", "The disk is full.");
    const output = async (read: AsyncIterable<Uint8Array>) => {
      for await (const _ of read) throw full;
    };
    await expect(engine.containers.command(spec, endless, { signal: signal(), output })).rejects.toBe(full);
    await eventually(async () => expect(await count("7532")).toBe(0));

    const broken = new DomainError("engine.failed", "The file is not what it was.");
    async function* input() {
      yield Buffer.from("a");
      throw broken;
    }
    const cat = { argv: ["sh", "-c", "cat; sleep 7533"], variables: {} } as const;
    await expect(engine.containers.command(spec, cat, { signal: signal(), input: input() })).rejects.toBe(broken);
    await eventually(async () => expect(await count("7533")).toBe(0));
  });

  test("that was killed by somebody else has not succeeded, nor has one that is not there", async () => {
    const { output, bytes } = collected();
    const killed = { argv: ["sh", "-c", "printf half; kill -9 $$"], variables: {} } as const;
    expect(await engine.containers.command(spec, killed, { signal: signal(), output })).toMatchObject({
      exitCode: 137,
    });
    expect(bytes().toString()).toBe("half");
    const missing = await engine.containers.command(
      spec,
      { argv: ["no-such-program"], variables: {} },
      { signal: signal() },
    );
    expect(missing.exitCode).toBe(127);
    expect(missing.errors.join()).toContain("no-such-program");
  });

  test.runIf(hasSshd)(
    "is the same over SSH, and has not succeeded, and runs no longer, when the connection breaks",
    async () => {
      const sshd = await makeSshd();
      await sshd.start();
      const bridgeFolder = mkdtempSync(join(tmpdir(), "berth-command-"));
      const host = sshHost({
        ...{ name: "far", ip: "127.0.0.1", port: sshd.port, user: sshd.user, connectTimeoutSeconds: 10 },
        ...{ privateKey: async () => sshd.privateKey, hostKey: null, onHostKey: async () => {}, bridgeFolder },
      });
      try {
        const far = await world.engine({ host, docker: dockerClient(host) });
        const data = randomBytes(3_000_000);
        async function* input() {
          for (let at = 0; at < data.length; at += 70_001) yield data.subarray(at, at + 70_001);
        }
        const { output, bytes } = collected();
        const cat = { argv: ["cat"], variables: {} } as const;
        expect(await far.containers.command(spec, cat, { signal: signal(), input: input(), output })).toMatchObject({
          exitCode: 0,
        });
        expect(bytes().equals(data)).toBe(true);

        const half = { argv: ["sh", "-c", "printf %0100d 1; sleep 7534; echo rest"], variables: {} } as const;
        const cutAfterHalf = async (read: AsyncIterable<Uint8Array>) => {
          for await (const _ of read) sshd.cut();
        };
        await expect(
          far.containers.command(spec, half, { signal: signal(), output: cutAfterHalf }),
        ).rejects.toMatchObject({
          code: expect.stringMatching(/^(engine|server)\.unreachable$/),
        });
        await eventually(async () => expect(await count("7534")).toBe(0));
      } finally {
        await host.close();
        await sshd.remove();
        rmSync(bridgeFolder, { recursive: true, force: true });
      }
    },
  );

  test("that takes no more of its input ends all the same", async () => {
    async function* endless() {
      for (;;) yield Buffer.alloc(100_000);
    }
    const command = { argv: ["head", "-c", "1"], variables: {} } as const;
    expect(await engine.containers.command(spec, command, { signal: signal(), input: endless() })).toMatchObject({
      exitCode: 0,
    });
  });
});
