import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { join } from "node:path";

/** Kinds of answers of an engine. */
export type Oddity = "well" | "endless" | "malformed" | "other types" | "silent" | "cut off";

/** A fake engine on a socket, whose answers tests can change. */
export interface OddEngine {
  readonly socketPath: string;
  become(oddity: Oddity): void;
  /** Number of requests since the last change. */
  asked(): number;
  dispose(): Promise<void>;
}

export async function oddEngine(folder: string): Promise<OddEngine> {
  const socketPath = join(folder, "engine.sock");
  let oddity: Oddity = "well";
  let asked = 0;
  const answers: Readonly<Record<Oddity, (...args: Parameters<RequestListener>) => void>> = {
    well: (request, response) => wellAnswer(request.url ?? "", response),
    endless: (_request, response) => endless(response),
    malformed: (_request, response) => void response.end('{"a": [1, 2'),
    "other types": (_request, response) => void response.end('[null, 7, {"Labels": 5, "Names": {}, "State": []}]'),
    silent: () => undefined,
    "cut off": (_request, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('[{"Id"', () => response.destroy());
    },
  };
  const server = createServer((request, response) => {
    asked++;
    answers[oddity](request, response);
  });
  server.listen(socketPath);
  await once(server, "listening");
  return {
    socketPath,
    become(next) {
      oddity = next;
      asked = 0;
      server.closeAllConnections();
    },
    asked: () => asked,
    async dispose() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

function wellAnswer(url: string, response: ServerResponse): void {
  const path = url.split("?")[0] ?? "";
  response.setHeader("content-type", "application/json");
  if (path === "/version") response.end('{"Version": "20.10.24", "ApiVersion": "1.41"}');
  else if (path === "/info") response.end('{"OSType": "linux", "DockerRootDir": "/"}');
  else if (path === "/_ping") response.end("OK");
  else if (path === "/events") response.flushHeaders();
  else if (path.endsWith("/json") && /^\/(containers|images)\/json$/.test(path)) response.end("[]");
  else response.writeHead(404).end('{"message": "no such object"}');
}

function endless(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write(PIECE));
  };
  response.on("drain", more);
  response.write("[0");
  more();
}

const PIECE = ",0".repeat(32_000);
