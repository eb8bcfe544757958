// A small process that starts programs for the server: a fork copies the page tables of the process that asks for it,
// which stops a large one for milliseconds. It ends with its channel.
import type { ChildProcess } from "node:child_process";
import { closeSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect, Socket } from "node:net";
import { join } from "node:path";
import { exitCodeOf, joinCgroups, startChild } from "../own-spawn.ts";
import {
  CHANNEL,
  faultOf,
  frameOf,
  frameReader,
  PIPES,
  type Question,
  type Report,
  type StartMessage,
} from "./messages.ts";

/** Only our own user can enter it. */
const [folder = ""] = process.argv.slice(2);
const channel = new Socket({ fd: CHANNEL, readable: true, writable: true });
const report = (message: Report) => channel.write(frameOf(message));

async function start({ id, request, tokens }: StartMessage): Promise<void> {
  const pipes = await Promise.allSettled(tokens.map(pipeOf));
  const sockets = pipes.flatMap((pipe) => (pipe.status === "fulfilled" ? pipe.value : []));
  try {
    const lost = pipes.find((pipe) => pipe.status === "rejected");
    if (lost !== undefined) return void report({ type: "unconnected", id, fault: faultOf(lost.reason) });
    const { child, pid } = await startChild(request, sockets);
    report({ type: "started", id, pid });
    void reportOf(id, child, joinCgroups(request.cgroupFiles, pid));
  } catch (cause) {
    report({ type: "failed", id, fault: faultOf(cause) });
  } finally {
    // The program has its own copies: each pipe ends with it.
    for (const socket of sockets) socket.destroy();
  }
}

/** The exit is reported last. */
async function reportOf(id: number, child: ChildProcess, joining: Promise<void>): Promise<void> {
  await joining.then(
    () => report({ type: "joined", id }),
    (cause: unknown) => report({ type: "outside", id, fault: faultOf(cause) }),
  );
  report({ type: "exited", id, exitCode: await exitCodeOf(child) });
}

/** Connects to the server. Only the program reads what the server sends, so the connection stays paused here. */
function pipeOf(token: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(folder, PIPES)).pause();
    socket.once("error", reject);
    socket.write(token, (cause) => (cause ? reject(cause) : resolve(socket)));
  });
}

/**
 * What started the server may have left it files, such as a lock or a log, which each program would inherit. Node lets no
 * program inherit the files that it opens itself.
 */
function closeInherited(): void {
  for (const file of readdirSync("/proc/self/fd").map(Number)) {
    if (file > CHANNEL && isInheritable(file)) closeSync(file);
  }
}

function isInheritable(file: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, "utf8")) ?? [];
    return flags !== "" && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false; // It was open only to list the others.
  }
}

const CLOSE_ON_EXEC = 0o2000000;

closeInherited();
// What stops all processes of a service at once would take it from the server, which stops in its own order.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
channel.on(
  "data",
  frameReader<Question>((message) => void (message.type === "ping" ? report({ type: "pong" }) : start(message))),
);
channel.on("error", () => {});
// The server has ended, or needs nothing at the moment. Programs that must outlive it continue.
channel.once("close", () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit();
});
report({ type: "ready" });
