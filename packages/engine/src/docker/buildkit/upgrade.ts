import { type ClientRequestArgs, type IncomingMessage, request } from "node:http";
import { Duplex } from "node:stream";
import { DomainError } from "@berth/core";
import type { Host } from "@berth/host";

/** Host and socket path of an engine. */
export interface EnginePlace {
  readonly host: Host;
  readonly socketPath: string;
}

/**
 * Upgrades a connection to HTTP/2, which the engine's BuildKit speaks.
 * @throws DomainError `engine.unsupported` when the engine has no BuildKit, else as `Host.connectSocket`
 */
export async function upgradeToHttp2(
  { host, socketPath }: EnginePlace,
  path: "/grpc" | "/session",
  headers: Readonly<Record<string, string | readonly string[]>>,
  signal: AbortSignal,
): Promise<Duplex> {
  const socket = await host.connectSocket(socketPath, signal);
  return await new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    const options: ClientRequestArgs = {
      createConnection: () => socket,
      host: "engine",
      method: "POST",
      path,
      headers: { ...headersOf(headers), Connection: "Upgrade", Upgrade: "h2c" },
      signal,
    };
    const sent = request(options);
    sent.once("upgrade", (_answer, stream, head) => {
      if (head.length === 0) return resolve(stream);
      // The engine's first bytes may come in the same packet. Node's HTTP/2 reads them a tick late from a socket, and
      // crashes the process when the session was closed meanwhile; from any other stream it reads them correctly.
      stream.unshift(head);
      resolve(Duplex.from({ readable: stream, writable: stream }));
    });
    const unreachable = (cause: Error) => {
      const message = `The engine of ${host.name} does not answer: ${cause.message}. Check that Docker runs there.`;
      fail(new DomainError("engine.unreachable", message, { cause }));
    };
    sent.once("response", (answer) => {
      // It agreed to the upgrade, and the rest of its answer was lost.
      if (answer.statusCode === AGREED) unreachable(new Error("its answer is damaged"));
      else fail(refusal(host.name, answer));
    });
    sent.once("error", unreachable);
    sent.end();
  });
}

const headersOf = (headers: Readonly<Record<string, string | readonly string[]>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]]),
  );

const refusal = (server: string, { statusCode }: IncomingMessage): DomainError =>
  new DomainError(
    "engine.unsupported",
    `The engine of ${server} does not support BuildKit (it answered ${statusCode}). Update Docker there to 20.10 or newer and deploy again.`,
  );

const AGREED = 101;
