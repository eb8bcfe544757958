import { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { Host } from "@berth/host";
import { localHost } from "@berth/host";

/** This machine, over connections that a test can cut. */
export function breakableHost() {
  const local = localHost("test");
  const open = new Set<Duplex>();
  let isCut = false;
  const host: Host = {
    ...local,
    async connectSocket(path, signal) {
      if (isCut) throw new DomainError("server.unreachable", "Server test does not answer.");
      const socket = await local.connectSocket(path, signal);
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      return socket;
    },
  };
  return {
    host,
    cut() {
      isCut = true;
      for (const socket of open) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    /** Cuts the open connections; new ones work at once. */
    hiccup() {
      for (const socket of open) socket.destroy();
    },
  };
}

/** This machine, over a connection with limited bandwidth. */
export function slowHost(bytesPerSecond: number): Host {
  const local = localHost("test");
  return {
    ...local,
    async connectSocket(path, signal) {
      const socket = await local.connectSocket(path, signal);
      const readable = async function* () {
        for await (const chunk of socket) {
          await delay((chunk.length / bytesPerSecond) * 1000);
          yield chunk;
        }
      };
      const calls = { setKeepAlive() {}, setNoDelay() {}, setTimeout() {}, ref() {}, unref() {} };
      const slow = Duplex.from({ readable: readable(), writable: socket });
      // As with a channel over SSH: idle sockets in a pool, which closes those that are too many, have no other listener.
      return Object.assign(
        slow.on("error", () => {}),
        calls,
      );
    },
  };
}
