import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";

/** What a server asked its database for, in order. */
export interface Transaction {
  /** Texts of its statements, without those that begin and end it. */
  readonly statements: readonly string[];
}

export interface CountedDatabase {
  /** Address of the database through this count. */
  readonly url: string;
  /** Transactions that have ended since the last call. */
  taken(): readonly Transaction[];
  close(): Promise<void>;
}

/** Forwards connections to a PostgreSQL and reads the protocol, so the count does not depend on the driver. */
export async function countedDatabase(target: string): Promise<CountedDatabase> {
  const { hostname: host, port } = new URL(target);
  const sockets = new Set<Socket>();
  let ended: Transaction[] = [];

  const listening = createServer((client) => {
    const server = createConnection({ host, port: Number(port) });
    const names = new Map<string, string>();
    let statements: string[] = [];
    const asked = frames(true, (type, body) => {
      if (type === "Q") statements.push(...textOf(body, 0).split(/;\s*/));
      if (type === "P") {
        const name = textOf(body, 0);
        const text = textOf(body, Buffer.byteLength(name) + 1);
        if (name === "") unnamed = text;
        else names.set(name, text);
      }
      if (type === "B") {
        const name = textOf(body, Buffer.byteLength(textOf(body, 0)) + 1);
        statements.push(name === "" ? unnamed : (names.get(name) ?? name));
      }
    });
    let unnamed = "";
    const answered = frames(false, (type, body) => {
      if (type !== "Z" || body[0] !== IDLE || statements.length === 0) return;
      ended.push({ statements: statements.filter((text) => !FRAME.test(text)) });
      statements = [];
    });
    client.on("data", asked);
    server.on("data", answered);
    client.pipe(server).pipe(client);
    for (const [own, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(own);
      own.on("error", () => undefined);
      own.on("close", () => {
        sockets.delete(own);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  url.port = String((listening.address() as AddressInfo).port); // A TCP server's address is an object.
  return {
    url: url.href,
    taken() {
      const list = ended;
      ended = [];
      return list;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => listening.close(() => resolve()));
    },
  };
}

const IDLE = "I".charCodeAt(0);
const FRAME = /^(begin|commit|rollback|select pg_current_xact_id|$)/i;

/** Calls `read` for each message of one direction. A client's first message has no type. */
function frames(isClient: boolean, read: (type: string, body: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStart = isClient;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const at = isStart ? 0 : 1;
      if (rest.length < at + 4) return;
      const end = at + rest.readUInt32BE(at);
      if (rest.length < end) return;
      if (!isStart) read(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, end));
      isStart = false;
      rest = rest.subarray(end);
    }
  };
}

const textOf = (body: Buffer, from: number): string => body.toString("utf8", from, body.indexOf(0, from));
