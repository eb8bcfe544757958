import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** git's smart HTTP on loopback, for the repositories of a folder. */
export interface GitServer {
  /** `http://HOST:PORT` without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** `GET /path?query` of every request, in order. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export interface GitServerOptions {
  /** Folder of the repositories: `root/app/.git` is `url/app/.git`. */
  readonly root: string;
  /** Loopback address to listen on, 127.0.0.1 by default. */
  readonly host?: string;
  /** Login that every request must have. Default: none. */
  readonly login?: { readonly username: string; readonly password: string };
  /** May answer a request itself, before login and git; returns whether it did. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export async function startGitServer(options: GitServerOptions): Promise<GitServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (options.intercept?.(request, response)) return;
    if (mayEnter(request, options.login)) backend(options, request, response);
    else response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
  });
  const host = options.host ?? "127.0.0.1";
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  return {
    url: `http://${host}:${port}`,
    port,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function mayEnter(request: IncomingMessage, login: GitServerOptions["login"]): boolean {
  if (login === undefined) return true;
  const expected = Buffer.from(`${login.username}:${login.password}`).toString("base64");
  return request.headers.authorization === `Basic ${expected}`;
}

/** Runs `git http-backend` over CGI. */
function backend({ root, login }: GitServerOptions, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://server");
  const header = (name: string) => String(request.headers[name] ?? "");
  const child = spawn("git", ["-c", "safe.directory=*", "http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: header("content-type"),
      HTTP_CONTENT_ENCODING: header("content-encoding"),
      GIT_PROTOCOL: header("git-protocol"),
      REMOTE_USER: login?.username ?? "",
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => {});
  response.on("close", () => child.kill());
  let head = Buffer.alloc(0);
  let isHeadSent = false;
  child.stdout.on("data", (chunk: Buffer) => {
    if (isHeadSent) {
      if (response.write(chunk)) return;
      child.stdout.pause();
      response.once("drain", () => child.stdout.resume());
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    isHeadSent = true;
    sendHead(response, head.subarray(0, end).toString("latin1"));
    response.write(head.subarray(end + 4));
  });
  child.stdout.on("end", () => response.end());
}

function sendHead(response: ServerResponse, head: string): void {
  let status = 200;
  const headers: Record<string, string> = {};
  for (const line of head.split("\r\n")) {
    const [name = "", ...rest] = line.split(": ");
    if (name.toLowerCase() === "status") status = Number(rest.join(": ").split(" ")[0]);
    else headers[name] = rest.join(": ");
  }
  response.writeHead(status, headers);
}
