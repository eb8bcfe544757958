import { createConnection, createServer, type Socket } from "node:net";

/**
 * A way to the database's server whose connections can be reset, as when it restarts or the network fails, and held, as
 * when it hangs.
 */
export async function relay(port: number) {
  const sockets = new Set<Socket>();
  let isHeld = false;
  const server = createServer((socket) => {
    const upstream = createConnection({ host: "127.0.0.1", port });
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
      if (isHeld) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The relay has no port");
  return {
    port: address.port,
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    hold: () => {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    letGo: () => {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
