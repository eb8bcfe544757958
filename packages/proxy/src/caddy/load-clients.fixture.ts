import { setTimeout as delay } from "node:timers/promises";
import { until } from "@berth/testing";
import { Pool } from "undici";
import { WebSocket } from "ws";
import { HOST } from "../proxy.fixture.ts";

/** Site that the clients request. */
export const LOAD_HOST = "load.test";

/** Returns its name and the request's body, over HTTP or WebSocket, partly delayed. It ignores signals. */
export const LOAD_SERVER = `
const { createHash } = require("node:crypto");
const server = require("node:http").createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => setTimeout(() => {
    response.setHeader("X-Release", process.env.RELEASE ?? process.env.HOSTNAME);
    response.end(Buffer.concat(chunks));
  }, Math.random() * 20));
});
server.on("upgrade", (request, socket) => {
  const key = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n" +
    "Sec-WebSocket-Accept: " + key.digest("base64") + "\\r\\n\\r\\n");
  socket.on("error", () => {});
  let rest = Buffer.alloc(0);
  socket.on("data", (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 6 && rest.length >= 6 + (rest[1] & 127)) {
      const length = rest[1] & 127;
      const mask = rest.subarray(2, 6);
      const text = Buffer.from(rest.subarray(6, 6 + length).map((byte, index) => byte ^ mask[index % 4]));
      socket.write(Buffer.concat([Buffer.from([rest[0], length]), text]));
      if ((rest[0] & 15) === 8) socket.end();
      rest = rest.subarray(6 + length);
    }
  });
});
server.listen(3000);
`;

/** Clients that keep their connections, half of them with bodies, and some that talk over WebSockets. */
export function startClients({
  port,
  requestsPerSecond,
  talkers = 4,
}: {
  readonly port: number;
  readonly requestsPerSecond: number;
  readonly talkers?: number;
}) {
  const pool = new Pool(`http://${HOST}:${port}`, { connections: 20, keepAliveTimeout: 60_000 });
  const failures: string[] = [];
  const releases = new Set<string>();
  const pending = new Set<Promise<void>>();
  const loops: Promise<void>[] = [];
  let isOver = false;
  let requests = 0;
  let messages = 0;

  async function request(number: number): Promise<void> {
    const body = number % 2 === 0 ? null : "x".repeat(1 + (number % 2000));
    try {
      const headers = { host: LOAD_HOST };
      const answer = await pool.request({ path: `/${number}`, method: body === null ? "GET" : "POST", headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) failures.push(`request ${number}: status ${answer.statusCode}`);
      else if (text !== (body ?? "")) failures.push(`request ${number}: another body`);
      releases.add(String(answer.headers["x-release"]));
    } catch (error) {
      failures.push(`request ${number}: ${error}`);
    }
  }

  async function sendRequests(): Promise<void> {
    const beganMs = performance.now();
    while (!isOver) {
      const due = ((performance.now() - beganMs) / 1000) * requestsPerSecond;
      while (requests < due) {
        const sent = request(requests++).finally(() => pending.delete(sent));
        pending.add(sent);
      }
      await delay(2);
    }
    await Promise.all(pending);
  }

  async function talk(): Promise<void> {
    while (!isOver) {
      try {
        messages += await conversation(port);
      } catch (error) {
        failures.push(`WebSocket: ${error}`);
      }
    }
  }

  return {
    begin: () => loops.push(sendRequests(), ...Array.from({ length: talkers }, talk)),
    requests: () => requests,
    async end() {
      isOver = true;
      await Promise.all(loops);
      await pool.destroy();
      return { failures, messages, releases: releases.size };
    },
  };
}

/** Exchanges ten messages within half a second. */
async function conversation(port: number): Promise<number> {
  const socket = new WebSocket(`ws://${HOST}:${port}/`, { headers: { Host: LOAD_HOST } });
  const answers: string[] = [];
  let problem: Error | undefined;
  socket.on("message", (data) => answers.push(String(data)));
  socket.on("error", (error) => {
    problem = error;
  });
  socket.on("close", () => {
    problem ??= new Error("It was closed.");
  });
  const settled = (isSo: () => boolean) =>
    until(() => isSo() || problem !== undefined, { what: "an answer", seconds: 30 });
  await settled(() => socket.readyState === WebSocket.OPEN);
  for (let number = 0; number < 10 && problem === undefined; number++) {
    socket.send(`message ${number}`);
    await settled(() => answers.at(-1) === `message ${number}`);
    await delay(50);
  }
  const found = problem;
  socket.terminate();
  if (found !== undefined) throw found;
  return answers.length;
}
