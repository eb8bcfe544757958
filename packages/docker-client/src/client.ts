import { Agent, type AgentOptions, type ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import { inspect } from "node:util";
import { DomainError, isDomainError } from "@berth/core";
import { noLeader } from "@berth/core/server";
import type { Host } from "@berth/host";
import Docker from "dockerode";
import { malformed, withAnswerLimit } from "./answer.ts";
import { withRepeats } from "./ask-again.ts";
import { withQueryAndBody } from "./query-and-body.ts";
import { ReportedFailure, reasonOf, statusCodeOf } from "./status.ts";
import { TIME_LIMITS, type TimeLimits, withTimeLimits } from "./time-limit.ts";

/** Version of the engine on a local socket, for messages; `undefined` when none answers. */
export async function dockerVersion(socketPath: string): Promise<string | undefined> {
  const docker = new Docker({ socketPath, timeout: 5000 });
  try {
    const { Version } = await docker.version();
    return Version;
  } catch {
    // The reason does not matter: there is no version to show.
    return undefined;
  }
}

/** Default path of an engine's socket. */
export const DOCKER_SOCKET = "/var/run/docker.sock";

export interface DockerClientOptions {
  readonly limits?: TimeLimits;
  /** Called before each connection, which fails with its error. */
  readonly beforeConnect?: () => Promise<void>;
}

/** Client of an engine's HTTP API over a socket of the machine, local or over SSH. */
export function dockerClient(
  host: Host,
  socketPath: string = DOCKER_SOCKET,
  { limits = TIME_LIMITS, beforeConnect }: DockerClientOptions = {},
): Docker {
  // Unversioned paths: the engine answers in its own version, from 1.41 on.
  const options: Docker.DockerOptions & { readonly agent: Agent } = {
    protocol: "http",
    host: "engine",
    port: 80,
    // Missing in the library's types.
    agent: socketAgent(host, socketPath, beforeConnect),
  };
  const limited = withAnswerLimit(withQueryAndBody(new Docker(options)), host.name);
  return withRepeats(withTimeLimits(limited, host.name, limits), () =>
    malformed(host.name, "something else than JSON"),
  );
}

/** An `http.Agent` that connects to a socket of the machine; `destroy()` closes its connections. */
export function socketAgent(host: Host, socketPath: string, beforeConnect = async () => {}): Agent {
  const options: AgentOptions = { keepAlive: true, maxSockets: SOCKETS_MAX, maxFreeSockets: FREE_SOCKETS_MAX };
  const agent = new Agent(options);
  // docker-modem calls `util.inspect` with `depth: null` on every request's options, which would visit all sockets.
  Object.assign(agent, { [inspect.custom]: () => "[SocketAgent]" });
  Object.assign(agent, { addRequest: failing(agent, host.name) });
  type Callback = (error: Error | null, stream?: Duplex) => void;
  // Typed as synchronous, but Node also accepts a callback.
  Object.assign(agent, {
    createConnection: (_options: unknown, callback: Callback) => {
      beforeConnect()
        .then(() => host.connectSocket(socketPath))
        .then(
          (stream) => callback(null, stream),
          (error: Error) => callback(error),
        );
    },
  });
  return agent;
}

/**
 * docker-modem ignores an answer that breaks off in the middle and would wait for ever: here the request is failed. It
 * keeps a refusal whatever its size.
 */
function failing(agent: Agent, server: string): AddRequest {
  const { addRequest } = Agent.prototype as unknown as { addRequest: AddRequest }; // Missing in the types.
  return (request, ...rest) => {
    request.prependListener("response", (response) => {
      response.on("error", (error) => request.emit("error", error));
      if ((response.statusCode ?? 0) < 400) return;
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > REFUSAL_BYTES_MAX)
          response.destroy(malformed(server, `a refusal of more than ${REFUSAL_BYTES_MAX >> 10} KB`));
      });
    });
    addRequest.call(agent, request, ...rest);
  };
}

type AddRequest = (request: ClientRequest, ...rest: readonly unknown[]) => void;

/** Maps an engine's error to a DomainError. Callers check meaningful statuses such as 404 before. */
export function engineError(server: string, cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  if (!(cause instanceof Error)) return new DomainError("engine.failed", `The engine of ${server} failed.`, { cause });
  // Code that reads an answer missed a field that every engine sends.
  if (cause instanceof TypeError) return malformed(server, "in an unknown format", cause);
  if (LEADERLESS.test(reasonOf(cause))) return noLeader(server, { cause });
  if (isAway(cause)) {
    const message = `The engine of ${server} does not answer: ${reasonOf(cause)}. Check that Docker runs there.`;
    return new DomainError("engine.unreachable", message, { cause });
  }
  return new DomainError("engine.failed", `The engine of ${server} refused: ${reasonOf(cause)}`, { cause });
}

/** Whether the engine did not answer, or the managers of its swarm could not: the call may be repeated. */
export const isAway = (cause: Error): boolean =>
  (statusCodeOf(cause) === undefined && !(cause instanceof ReportedFailure)) || UNDECIDED.test(reasonOf(cause));

/** A manager says so while it chooses another leader, after its own start, and while too many of them are lost. */
const LEADERLESS = /swarm does not have a leader|node lost leader status|has trouble connecting to the cluster/;
const UNDECIDED = new RegExp(`${LEADERLESS.source}|code = DeadlineExceeded`);

/** A refusal is a sentence. */
const REFUSAL_BYTES_MAX = 256 << 10;
const SOCKETS_MAX = 256; // Each followed log and each event stream uses one.
/** Of a thousand servers at rest, some 10 KB each. One more than what follows a server asks at a time. */
const FREE_SOCKETS_MAX = 2;
