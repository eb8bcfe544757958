import { type IncomingMessage, request } from "node:http";
import { DomainError, isDomainError } from "@berth/core";
import { DOCKER_SOCKET } from "@berth/docker-client";
import { type Host, readAtMost } from "@berth/host";

/** Sends one request to an engine, over a connection that is closed after the answer. */
export async function engineJson(
  host: Host,
  path: string,
  { socketPath = DOCKER_SOCKET, signal }: { readonly socketPath?: string | undefined; readonly signal: AbortSignal },
): Promise<unknown> {
  const stream = await host.connectSocket(socketPath, signal);
  try {
    return await new Promise((resolve, reject) => {
      // Streams of a host have all the methods that a request calls on its socket.
      const createConnection = () => stream as never;
      const options = {
        path,
        method: "GET",
        headers: { host: "engine", connection: "close" },
        signal,
        createConnection,
      };
      const asking = request(options, (response) => {
        const isWell = response.statusCode === 200;
        if (!isWell) return reject(new Error(`It answers with status ${response.statusCode}.`));
        // `/_ping` answers with plain text instead of JSON.
        if (path === "/_ping") return resolve(response.resume());
        bounded(response).then(resolve, reject);
      });
      asking.once("error", reject);
      asking.end();
    });
  } catch (cause) {
    if (isDomainError(cause)) throw cause;
    const why = signal.aborted
      ? "it took too long"
      : cause instanceof OddAnswer
        ? cause.message
        : "the answer broke off";
    const message = `The engine of server ${host.name} does not answer: ${why}. Check that Docker runs there.`;
    throw new DomainError("engine.unreachable", message, { cause });
  } finally {
    stream.destroy();
  }
}

class OddAnswer extends Error {
  override name = "OddAnswer";
}

async function bounded(response: IncomingMessage): Promise<unknown> {
  const body = await readAtMost(response, ANSWER_BYTES_MAX);
  if (body === undefined) throw new OddAnswer(`its answer has more than ${ANSWER_BYTES_MAX >> 10} KB`);
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (cause) {
    throw new OddAnswer("its answer is not JSON", { cause });
  }
}

/** The description of an engine has some kilobytes. */
const ANSWER_BYTES_MAX = 256 << 10;
