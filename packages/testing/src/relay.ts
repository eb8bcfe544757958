import { type AddressInfo, createConnection, createServer, type NetConnectOpts, type Socket } from "node:net";
import { Transform } from "node:stream";

/** A moment in the connection of a client and its server. */
export interface CutMoment {
  /** Matches data sent by the client: the first match is the moment. */
  matches(sent: Buffer): boolean;
  /** Whether the server receives that data, and only its answer is lost. */
  readonly isPassedOn: boolean;
  /** Whether the server's connection stays open, as in a network failure. */
  readonly leavesServer?: boolean;
}

export interface Relay {
  readonly port: number;
  /** Number of open connections of clients. */
  connections(): number;
  /** Resets connections, as a server restart or a network failure does: all of them, or about this share. */
  cut(share?: number): void;
  /** Whether some answers are garbled or broken off from now on. */
  damage(isOn: boolean): void;
  /** Resets the next connection that reaches this moment, and then resolves. */
  cutAt(moment: CutMoment): Promise<void>;
  /** Forwards nothing, like a server that hangs. */
  hold(): void;
  letGo(): void;
  close(): Promise<void>;
}

/** A proxy on TCP, or on the socket of this path, whose connections tests can break or stall. */
export async function relay(target: NetConnectOpts, path?: string): Promise<Relay> {
  const sockets = new Set<Socket>();
  const open = new Set<() => void>();
  const armed = new Map<CutMoment, () => void>();
  let isHeld = false;
  let isDamaging = false;

  function serve(client: Socket): void {
    const server = createConnection(target);
    let onEnd: () => void = () => undefined;
    let isAnswerAwaited = false;
    let isServerLeft = false;
    const cut = () => {
      reset(client);
      if (!isServerLeft) reset(server);
    };
    const sending = new Transform({
      transform(chunk: Buffer, _, done) {
        const [moment, told] = [...armed].find(([{ matches }]) => matches(chunk)) ?? [];
        if (moment === undefined || told === undefined) return done(null, chunk);
        armed.delete(moment);
        onEnd = told;
        isServerLeft = moment.leavesServer === true;
        if (!moment.isPassedOn) return cut();
        isAnswerAwaited = true;
        done(null, chunk);
      },
    });
    const answering = new Transform({
      transform(chunk: Buffer, _, done) {
        if (isAnswerAwaited) return cut();
        if (!isDamaging || Math.random() > DAMAGED_SHARE) return done(null, chunk);
        if (Math.random() < 0.5) return done(null, garbled(chunk));
        done(null, chunk.subarray(0, chunk.length / 2));
        setImmediate(cut);
      },
    });
    open.add(cut);
    client.once("close", () => open.delete(cut));
    client.pipe(sending).pipe(server).pipe(answering).pipe(client);
    for (const [own, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(own);
      own.on("error", () => undefined);
      own.on("close", () => {
        sockets.delete(own);
        onEnd();
        if (own === server || !isServerLeft) other.destroy();
      });
      if (isHeld) own.pause();
    }
  }

  const listening = createServer(serve);
  await new Promise<void>((resolve) =>
    listening.listen(path === undefined ? { port: 0, host: "127.0.0.1" } : { path }, resolve),
  );
  return {
    port: path === undefined ? (listening.address() as AddressInfo).port : 0, // a TCP server's address is an object
    connections: () => open.size,
    cut: (share = 1) => {
      for (const cut of open) if (Math.random() < share) cut();
    },
    damage: (isOn) => {
      isDamaging = isOn;
    },
    cutAt: (moment) => new Promise((resolve) => armed.set(moment, resolve)),
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
      return new Promise((resolve) => listening.close(() => resolve()));
    },
  };
}

/** Sockets that have a path cannot be reset. */
const reset = (socket: Socket) => (socket.remoteAddress === undefined ? socket.destroy() : socket.resetAndDestroy());

/** As by a faulty network card: some bytes in the middle are others. */
function garbled(chunk: Buffer): Buffer {
  const damaged = Buffer.from(chunk);
  damaged.fill(0, damaged.length >> 1, Math.min(damaged.length, (damaged.length >> 1) + 8));
  return damaged;
}

const DAMAGED_SHARE = 0.25;
