import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@berth/testing";
import { afterEach, expect, test, vi } from "vitest";
import { frameOf, frameReader, type StartMessage } from "./messages.ts";
import { pipeQueue } from "./pipe-queue.ts";
import { NotStarted, remotePrograms } from "./remote-programs.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

/** Both ends of a connection. */
async function channelPair(): Promise<readonly [Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), "berth-channel-"));
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  await new Promise<void>((resolve) => server.listen(join(folder, "socket"), resolve));
  const pair = [connect(join(folder, "socket")), await accepted] as const;
  undo.push(() => {
    for (const socket of pair) socket.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return pair;
}

const SLEEP = { argv: ["/bin/sleep", "300"], env: {}, ids: {}, stdio: ["pipe"], cgroupFiles: [] } as const;
const LASTING = { idleSeconds: 60, onIdle: () => {}, onSilence: () => {} };

test("a program whose pipes never connect is ended, and its start fails", async () => {
  const [ours, theirs] = await channelPair();
  const program = spawn("/bin/sleep", ["300"], { detached: true, stdio: "ignore" });
  const ended = new Promise((resolve) => program.once("exit", (_code, signal) => resolve(signal)));
  const onStart = ({ id }: StartMessage) => theirs.write(frameOf({ type: "started", id, pid: program.pid ?? 0 }));
  theirs.on("data", frameReader<StartMessage>(onStart));
  const { start } = remotePrograms(ours, pipeQueue(), { ...LASTING, pipeSecondsMax: 0.05 });
  await expect(start(SLEEP)).rejects.toMatchObject({ code: "engine.failed" });
  expect(await ended).toBe("SIGKILL");
});

test("few starts are asked for at once: the queue of connections of a socket is short, and a request may be long", async () => {
  const [ours, theirs] = await channelPair();
  const asked: StartMessage[] = [];
  const fail = ({ id }: StartMessage) => theirs.write(frameOf({ type: "failed", id, fault: { message: "no" } }));
  theirs.on(
    "data",
    frameReader<StartMessage>((message) => asked.push(message)),
  );
  const { start } = remotePrograms(ours, pipeQueue(), LASTING);
  const all = Promise.allSettled(Array.from({ length: 100 }, () => start(SLEEP)));
  const most: number[] = [];
  for (let done = 0; done < 100; ) {
    await eventually(() => expect(asked.length).toBeGreaterThan(0));
    most.push(asked.length);
    done += asked.length;
    for (const message of asked.splice(0)) fail(message);
  }
  expect(Math.max(...most)).toBeLessThanOrEqual(8);
  expect((await all).map(({ status }) => status)).toEqual(Array(100).fill("rejected"));
});

test("what waits for its turn when the launcher ends was not started", async () => {
  const [ours, theirs] = await channelPair();
  const { start } = remotePrograms(ours, pipeQueue(), LASTING);
  const all = Promise.allSettled(Array.from({ length: 20 }, () => start(SLEEP)));
  theirs.once("data", () => theirs.destroy());
  const causes = (await all).map((one) => one.status === "rejected" && one.reason);
  expect(causes.filter((cause) => cause instanceof NotStarted)).toHaveLength(12);
});

test("a start that failed waits for no pipe", async () => {
  const [ours, theirs] = await channelPair();
  const fail = ({ id }: StartMessage) => theirs.write(frameOf({ type: "failed", id, fault: { message: "no" } }));
  theirs.on("data", frameReader<StartMessage>(fail));
  const pipes = pipeQueue();
  const ends: Promise<Socket>[] = [];
  const next = (token: string) => {
    const end = pipes.next(token);
    ends.push(end);
    return end;
  };
  await expect(remotePrograms(ours, { ...pipes, next }, LASTING).start(SLEEP)).rejects.toThrow("no");
  await expect(Promise.all(ends)).rejects.toThrow("no");
});

test("a message is joined once, in however many chunks it arrives", () => {
  const message = { type: "failed", id: 1, fault: { message: "x".repeat(100_000) } } as const;
  const bytes = frameOf(message);
  const chunks = Array.from({ length: 1000 }, (_, n) => bytes.subarray(n * 101, (n + 1) * 101)).filter(
    (one) => one.length,
  );
  const concat = vi.spyOn(Buffer, "concat");
  try {
    const read: unknown[] = [];
    const write = frameReader((one) => read.push(one));
    for (const chunk of chunks) write(chunk);
    expect(read).toEqual([message]);
    expect(concat).toHaveBeenCalledTimes(1);
  } finally {
    concat.mockRestore();
  }
});

test("frames arrive whole, however they are cut", () => {
  const faults = ["short", "é".repeat(2000)];
  const messages = faults.map((message, id) => ({ type: "failed", id, fault: { message } }) as const);
  const bytes = Buffer.concat(messages.map(frameOf));
  for (const size of [1, 5, 1000, bytes.length]) {
    const read: unknown[] = [];
    const write = frameReader((message) => read.push(message));
    for (let at = 0; at < bytes.length; at += size) write(bytes.subarray(at, at + size));
    expect(read).toEqual(messages);
  }
});
