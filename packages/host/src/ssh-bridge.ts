import { randomBytes } from "node:crypto";
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { DomainError } from "@berth/core";

/** Local sockets that forward to sockets of another machine. */
export interface SocketBridges {
  to(path: string): Promise<string>;
  close(): Promise<void>;
}

/** @param folder Only our own user can enter it. */
export function socketBridges(folder: string, connect: (path: string) => Promise<Duplex>): SocketBridges {
  const bridges = new Map<string, Promise<Bridge>>();
  return {
    async to(path) {
      const opening = bridges.get(path) ?? openBridge(folder, () => connect(path));
      bridges.set(path, opening);
      try {
        return (await opening).path;
      } catch (cause) {
        bridges.delete(path);
        throw new DomainError("engine.failed", `Berth cannot make a socket in ${folder} on its own machine.`, {
          cause,
        });
      }
    },
    async close() {
      const all = [...bridges.values()];
      bridges.clear();
      await Promise.all(all.map(async (opening) => (await opening.catch(() => undefined))?.close()));
    },
  };
}

interface Bridge {
  readonly path: string;
  close(): Promise<void>;
}

async function openBridge(folder: string, connect: () => Promise<Duplex>): Promise<Bridge> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  // A random name: the bridge of an earlier connection to the same machine may not be removed yet.
  const path = join(folder, `${randomBytes(6).toString("hex")}.sock`);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    connect().then(
      (channel) => joinBoth(socket, channel),
      () => socket.destroy(),
    );
  });
  await listening(server, path);
  return {
    path,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await rm(path, { force: true });
    },
  };
}

/** Connects both streams: the end or failure of one ends the other. */
function joinBoth(socket: Socket, channel: Duplex): void {
  if (socket.destroyed) {
    channel.destroy();
    return;
  }
  channel.on("error", () => socket.destroy());
  channel.once("close", () => socket.destroySoon());
  socket.once("close", () => channel.destroy());
  socket.pipe(channel).pipe(socket);
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
}
