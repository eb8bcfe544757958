import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localHost } from "@berth/host";
import { until } from "@berth/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openSession } from "./session.ts";

/** The first bytes of an HTTP/2 client. */
const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0";
const UPGRADED = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
const OFFER = { folders: {}, secrets: new Map(), logins: new Map() };

let folder: string;
let engine: Server;
let socketPath: string;
/** How the engine answers the upgrade. */
let speak: (socket: Socket) => void;
const sockets: Socket[] = [];
beforeEach(async () => {
  speak = (socket) => socket.write(`${UPGRADED}${PREFACE}`, "latin1");
  folder = mkdtempSync(join(tmpdir(), "berth-session-"));
  socketPath = join(folder, "engine.sock");
  engine = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => {
      speak(socket);
    });
  }).listen(socketPath);
  await once(engine, "listening");
});
afterEach(() => {
  engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const opened = () => openSession({ host: localHost("here"), socketPath }, "x", OFFER, AbortSignal.timeout(10_000));

test("a session that is closed as soon as the engine speaks ends nothing else", async () => {
  const faults: unknown[] = [];
  const onFault = (error: unknown) => faults.push(error);
  process.prependOnceListener("uncaughtException", onFault);
  (await opened()).close();
  await new Promise((resolve) => setImmediate(resolve));
  process.removeListener("uncaughtException", onFault);
  expect(faults).toEqual([]);
});

test("a session knows that its connection was lost, and not closed", async () => {
  const [lost, closed] = await Promise.all([opened(), opened()]);
  closed.close();
  for (const socket of sockets) socket.destroy();
  await until(() => lost.isLost());
  expect(closed.isLost()).toBe(false);
  lost.close();
});

test("a session whose engine sends a damaged request counts as lost, so that its build is made again", async () => {
  const path = "/moby.buildkit.secrets.v1.Secrets/GetSecret";
  speak = (socket) => {
    socket.write(UPGRADED);
    const client = connect("http://berth", { createConnection: () => socket });
    client.on("error", () => undefined);
    const request = client.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
    request.on("error", () => undefined);
    // One message of two bytes, whose field has a type that does not exist.
    request.end(Buffer.from([0, 0, 0, 0, 2, 0x17, 0x00]));
  };
  const session = await opened();
  await until(() => session.isLost());
  session.close();
});
