import { Agent, type AgentOptions, type ClientRequest } from "node:http";
import type { Duplex } from "node:stream";
import { inspect } from "node:util";
import { DomainError, isDomainError } from "@berth/core";
import type { Host } from "@berth/host";
import Docker from "dockerode";
import { withRepeats } from "./ask-again.ts";
import { withQueryAndBody } from "./query-and-body.ts";
import { reasonOf, statusCodeOf } from "./status.ts";
import { TIME_LIMITS, type TimeLimits, withTimeLimits } from "./time-limit.ts";

/** Version of the engine on a socket of this machine, for people; `undefined` when none answers. */
export async function dockerVersion(socketPath: string): Promise<string | undefined> {
  const docker = new Docker({ socketPath, timeout: 5000 });
  try {
    const { Version } = await docker.version();
    return Version;
  } catch {
    // Whatever the reason is, nothing can be done with it.
    return undefined;
  }
}

/** Where an engine listens unless its server says otherwise. */
export const DOCKER_SOCKET = "/var/run/docker.sock";

/** The engine's HTTP API, over a socket of the machine: the same for this one and for one over SSH. */
export function dockerClient(host: Host, socketPath: string = DOCKER_SOCKET, limits: TimeLimits = TIME_LIMITS): Docker {
  // Unversioned paths: the engine answers in its own version, from 1.41 on.
  const options: Docker.DockerOptions & { readonly agent: Agent } = {
    protocol: "http",
    host: "engine",
    port: 80,
    // Missing in the library's types.
    agent: socketAgent(host, socketPath),
  };
  return withRepeats(withTimeLimits(withQueryAndBody(new Docker(options)), host.name, limits));
}

/** An `http.Agent` whose connections are streams to a socket of the machine; ended by its `destroy()`. */
export function socketAgent(host: Host, socketPath: string): Agent {
  const options: AgentOptions = { keepAlive: true, maxSockets: SOCKETS_MAX, maxFreeSockets: 8 };
  const agent = new Agent(options);
  // docker-modem runs `util.inspect` with `depth: null` over the options of every request: it would walk all sockets.
  Object.assign(agent, { [inspect.custom]: () => "[SocketAgent]" });
  Object.assign(agent, { addRequest: telling(agent) });
  type Callback = (error: Error | null, stream?: Duplex) => void;
  // The types know it as synchronous; Node takes an answer by callback too.
  Object.assign(agent, {
    createConnection: (_options: unknown, callback: Callback) => {
      host.connectSocket(socketPath).then(
        (stream) => callback(null, stream),
        (error: Error) => callback(error),
      );
    },
  });
  return agent;
}

/**
 * docker-modem hears nothing of an answer that breaks off in the middle, and would wait for the rest of it for ever:
 * the request is told.
 */
function telling(agent: Agent): AddRequest {
  const { addRequest } = Agent.prototype as unknown as { addRequest: AddRequest }; // Missing in the types.
  return (request, ...rest) => {
    request.prependListener("response", (response) => {
      response.on("error", (error) => request.emit("error", error));
    });
    addRequest.call(agent, request, ...rest);
  };
}

type AddRequest = (request: ClientRequest, ...rest: readonly unknown[]) => void;

/** Maps an engine's refusal to a domain error. Callers check 404 and other meaningful statuses before. */
export function engineError(server: string, cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  if (!(cause instanceof Error)) return new DomainError("engine.failed", `The engine of ${server} failed.`, { cause });
  if (statusCodeOf(cause) === undefined) {
    const message = `The engine of ${server} does not answer: ${cause.message}. Check that Docker runs there.`;
    return new DomainError("engine.unreachable", message, { cause });
  }
  return new DomainError("engine.failed", `The engine of ${server} refused: ${reasonOf(cause)}`, { cause });
}

const SOCKETS_MAX = 256; // Each followed log and each event stream keeps one.
