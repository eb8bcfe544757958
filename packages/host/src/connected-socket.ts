import type { Socket } from "node:net";

/** Resolves when the socket is connected. @param late Makes the error for one that is not in time. */
export function connected(socket: Socket, secondsMax: number, late: () => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), secondsMax * 1000);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.removeListener("error", reject);
      resolve();
    });
    socket.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}
