import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy in front of a server on loopback. While it is closed, uploads silently stall and other requests pass. */
export interface PausableEndpoint {
  readonly endpoint: string;
  close(): void;
  open(): void;
  /** Whether an upload is stalled now. */
  isAwaited(): boolean;
  dispose(): Promise<void>;
}

export async function pausableEndpoint(endpoint: string): Promise<PausableEndpoint> {
  const port = Number(new URL(endpoint).port);
  const inside = new Set<Socket>();
  let isOpen = true;
  const gate = createServer((client) => {
    const target = connect(port, "127.0.0.1");
    inside.add(client);
    for (const one of [client, target]) one.on("error", () => undefined);
    client.on("close", () => {
      inside.delete(client);
      target.destroy();
    });
    target.on("close", () => client.destroy());
    target.on("data", (chunk) => void client.write(chunk));
    let sentBytes = 0;
    client.on("data", (chunk) => {
      target.write(chunk);
      sentBytes += chunk.length;
      if (!isOpen && sentBytes > QUESTION_BYTES_MAX) client.pause();
    });
  });
  gate.listen(0, "127.0.0.1");
  await once(gate, "listening");
  const address = gate.address();
  if (address === null || typeof address === "string") throw new Error("A server on TCP has a port.");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    close() {
      isOpen = false;
    },
    open() {
      isOpen = true;
      for (const client of inside) client.resume();
    },
    isAwaited: () => [...inside].some((client) => client.isPaused()),
    async dispose() {
      gate.close();
      for (const client of inside) client.destroy();
      await once(gate, "close");
    },
  };
}

const QUESTION_BYTES_MAX = 65_536;
