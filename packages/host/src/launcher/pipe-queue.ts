import type { Socket } from "node:net";
import { TOKEN_BYTES } from "./messages.ts";

/** Pairs connections of the launcher with the programs whose pipes they are. */
export interface PipeQueue {
  /** Reads the token of a new connection, and nothing that follows it. */
  accept(socket: Socket): void;
  next(token: string): Promise<Socket>;
  /** Nobody waits for it any longer: it is closed as soon as it connects. */
  cancel(token: string, cause: unknown): void;
  /** Nothing connects any more. */
  close(cause: Error): void;
}

export function pipeQueue(): PipeQueue {
  const waiting = new Map<string, PromiseWithResolvers<Socket>>();
  return {
    accept(socket) {
      socket.on("error", () => {});
      const onReadable = () => {
        const token: Buffer | null = socket.read(TOKEN_BYTES);
        if (token === null) return;
        socket.off("readable", onReadable);
        const expected = waiting.get(token.toString("latin1"));
        if (expected === undefined) socket.destroy();
        else expected.resolve(socket);
      };
      socket.on("readable", onReadable);
    },
    next(token) {
      const expected = Promise.withResolvers<Socket>();
      waiting.set(token, expected);
      const taken = () => void waiting.delete(token);
      expected.promise.then(taken, taken);
      return expected.promise;
    },
    cancel(token, cause) {
      const expected = waiting.get(token);
      if (expected === undefined) return;
      // At once, since it may connect before the rejection is handled.
      waiting.delete(token);
      expected.reject(cause);
    },
    close(cause) {
      for (const { reject } of waiting.values()) reject(cause);
    },
  };
}
