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
  /** Resets all connections, as a server restart or a network failure does. */
  cut(): void;
  /** Resets the next connection that reaches this moment, and then resolves. */
  cutAt(moment: CutMoment): Promise<void>;
  /** Forwards nothing, like a server that hangs. */
  hold(): void;
  letGo(): void;
  close(): Promise<void>;
}

/** A TCP proxy whose connections tests can break or stall. */
export async function relay(target: NetConnectOpts): Promise<Relay> {
  const sockets = new Set<Socket>();
  const armed = new Map<CutMoment, () => void>();
  let isHeld = false;

  function serve(client: Socket): void {
    const server = createConnection(target);
    let onEnd: () => void = () => undefined;
    let isAnswerAwaited = false;
    let isServerLeft = false;
    const cut = () => {
      client.resetAndDestroy();
      if (!isServerLeft) server.resetAndDestroy();
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
      transform: (chunk: Buffer, _, done) => (isAnswerAwaited ? cut() : done(null, chunk)),
    });
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
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return {
    port: (listening.address() as AddressInfo).port, // a TCP server's address is an object
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
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
