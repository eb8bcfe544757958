import { Agent } from "node:http";
import { Duplex, PassThrough } from "node:stream";
import { inspect } from "node:util";
import Docker from "dockerode";

/** The engine inside a server container, reached through the container: it answers even while its network is cut. */
export function serverEngine({ modem }: Docker, container: Docker.Container): Docker {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  Object.assign(agent, {
    createConnection(_options: unknown, done: (error: Error | null, socket?: Duplex) => void): void {
      connected(modem, container).then((socket) => done(null, socket), done);
    },
    // The library prints the agent for each request, with its whole content.
    [inspect.custom]: () => "[Agent]",
  });
  // The library passes on all options, but its types lack this one.
  const options: Docker.DockerOptions & { readonly agent: Agent } = { protocol: "http", host: "server", agent };
  return new Docker(options);
}

async function connected(modem: Docker["modem"], container: Docker.Container): Promise<Duplex> {
  const Cmd = ["docker", "system", "dial-stdio"];
  const exec = await container.exec({ Cmd, AttachStdin: true, AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({ hijack: true, stdin: true });
  const [answers, problems] = [new PassThrough(), new PassThrough()];
  modem.demuxStream(stream, answers, problems);
  problems.resume();
  const end = () => answers.end();
  stream.once("end", end).once("close", end).once("error", end);
  const socket: Duplex = Duplex.from({ readable: answers, writable: stream });
  // Half open, the agent would keep it, and a request after a restart of the server would never be answered.
  socket.once("end", () => socket.destroy());
  socket.on("error", () => stream.destroy());
  socket.once("close", () => stream.destroy());
  // Methods that an agent calls on a socket and a stream lacks.
  return Object.assign(socket, Object.fromEntries(SOCKET_METHODS.map((name) => [name, () => socket])));
}

const SOCKET_METHODS = ["setKeepAlive", "setNoDelay", "setTimeout", "ref", "unref"];
const CONNECTIONS_MAX = 4; // Each connection is a program on the server.
