// Effect of hundreds of slow clients on a read: the same read is measured alternately without and with them.
import { connect, type Socket } from "node:net";
import { testServer } from "../apps/server/e2e/server.fixture.ts";
import { load, median } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const CLIENTS = 200; // Number of clients of each kind.
const ROUNDS = 3;
const SECONDS = 2;

export async function benchSlowClients(): Promise<readonly Figure[]> {
  const server = await testServer({});
  try {
    const { port } = new URL(server.url);
    const target = { url: `${server.url}/api/v1/version`, pid: server.pid(), token: server.token };
    await load({ ...target, seconds: 2 });
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const alone = await load({ ...target, seconds: SECONDS });
      const slow = slowClients(Number(port), server.token);
      const beside = await load({ ...target, seconds: SECONDS });
      slow.stop();
      if (alone.failed + beside.failed > 0) throw new Error("Requests failed: nothing was measured.");
      ratios.push(alone.requestsPerSecond / beside.requestsPerSecond);
      console.log(
        `  ${alone.requestsPerSecond.toFixed(0)} req/s alone, ${beside.requestsPerSecond.toFixed(0)} beside them`,
      );
    }
    return [atMost(`A read beside ${2 * CLIENTS} slow clients, time against alone`, median(ratios), 2)];
  } finally {
    await server.dispose();
  }
}

/**
 * Slow headers, and slow bodies with and without a token: each sends a byte every 100 ms, and reconnects when cut off.
 */
function slowClients(port: number, token: string) {
  const sockets = new Set<Socket>();
  let isStopped = false;
  const open = (head: string) => {
    if (isStopped) return;
    const socket = connect({ host: "127.0.0.1", port });
    sockets.add(socket);
    const timer = setInterval(() => socket.write("x"), 100);
    socket.on("error", () => undefined);
    socket.resume();
    socket.on("close", () => {
      clearInterval(timer);
      sockets.delete(socket);
      setTimeout(open, 100, head);
    });
    socket.write(head);
  };
  const body = (headers: string) =>
    `POST /api/v1/projects HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n${headers}\r\n`;
  for (let client = 0; client < CLIENTS; client += 1) {
    open("GET /api/v1/version HTTP/1.1\r\nhost: x\r\nx-slow: ");
    open(body(client % 2 === 0 ? "" : `authorization: Bearer ${token}\r\n`));
  }
  return {
    stop() {
      isStopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}
