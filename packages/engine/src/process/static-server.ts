// A separate program, run as the user of the application whose files it serves: it imports nothing of ours.
import { realpath } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { type SendResult, send } from "@fastify/send";

export interface StaticSite {
  /** The served folder. Links cannot lead to files outside of it. */
  readonly root: string;
  /** Unknown pages get `/index.html`, for applications with routing in the browser. */
  readonly isSpa: boolean;
}

/** Serves a folder: index files, conditional and range requests, `404.html`; no folder listings and no hidden files. */
export function createStaticServer(site: StaticSite): Server {
  const server = createServer((request, response) => {
    answer(site, request, response).catch((cause: unknown) => {
      console.error(cause);
      if (response.headersSent) response.destroy();
      else sendText(response, 500, "Internal server error.");
    });
  });
  // Longer than proxies keep idle connections, so that no connection closes while a proxy sends a request.
  server.keepAliveTimeout = 75_000;
  return server;
}

async function answer({ root, isSpa }: StaticSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return sendText(response, 405, "Only GET and HEAD.");
  }
  const [path = "/", ...query] = (request.url ?? "/").split("?");
  const found = await lookUp(root, request, path);
  if (found?.type === "directory") {
    // One slash only: a location that begins with two slashes would be read as another host.
    const location = `/${path.replace(/^\/+/, "")}/`;
    response.setHeader("location", query.length === 0 ? location : `${location}?${query.join("?")}`);
    return sendText(response, 301, "Moved.");
  }
  if (found !== undefined) return await sendFile(response, found);
  const page = isSpa && wantsPage(request, path) ? await lookUp(root, request, "/") : undefined;
  if (page !== undefined) return await sendFile(response, page);
  // Conditional and range headers of the request do not apply to this page.
  request.headers = {};
  const notFound = await lookUp(root, request, "/404.html");
  if (notFound === undefined) return sendText(response, 404, "Not found.");
  return await sendFile(response, { ...notFound, statusCode: 404 });
}

/** A path without extension may also be a page: exported sites have `docs.html` beside the folder `docs`. */
async function lookUp(root: string, request: IncomingMessage, path: string): Promise<SendResult | undefined> {
  const direct = await fileAt(root, request, path);
  if (path.endsWith("/") || (direct !== undefined && direct.type !== "directory")) return direct;
  const page = await fileAt(root, request, `${path}.html`);
  return page?.type === "file" ? page : direct;
}

async function fileAt(root: string, request: IncomingMessage, path: string): Promise<SendResult | undefined> {
  try {
    const result = await send(request, path, {
      root,
      dotfiles: isWellKnown(path) ? "allow" : "ignore",
      index: ["index.html", "index.htm"],
      cacheControl: false,
      async onFile(file, stats) {
        const [realRoot, real] = await Promise.all([realpath(root), realpath(file)]);
        if (!real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) throw new OutsideError();
        // ETags use this time: builds that set equal modification times must not make changed files look unchanged.
        if (stats.ctime > stats.mtime) stats.mtime = stats.ctime;
      },
    });
    return result.type === "error" && !ANSWERED.has(result.statusCode) ? undefined : result;
  } catch (cause) {
    if (cause instanceof OutsideError || (cause instanceof Error && "code" in cause)) return undefined;
    throw cause;
  }
}

/** A link leads outside of the folder. */
class OutsideError extends Error {}

/**
 * Statuses for a malformed path, a failed condition and an invalid range. Other errors mean that the file is missing.
 */
const ANSWERED: ReadonlySet<number> = new Set([400, 412, 416]);

/** `.well-known` is meant to be public; all other hidden files and folders are not. */
function isWellKnown(path: string): boolean {
  try {
    return /^\/+\.well-known\/(?!.*\/\.)[^.]/.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}

/** For scripts and images, an HTML page would only hide that the file is missing. */
function wantsPage(request: IncomingMessage, path: string): boolean {
  return extname(path) === "" || (request.headers.accept ?? "").includes("text/html");
}

async function sendFile(response: ServerResponse, { statusCode, headers, stream }: SendResult): Promise<void> {
  // For files with an unknown extension or none.
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("cache-control", "public, max-age=0, must-revalidate");
  response.setHeader("x-content-type-options", "nosniff");
  response.writeHead(statusCode, headers);
  await pipeline(stream, response).catch((cause: unknown) => {
    // The browser closed the connection.
    if (!response.destroyed) throw cause;
  });
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.setHeader("content-length", Buffer.byteLength(`${text}\n`));
  response.writeHead(status).end(`${text}\n`);
}

function main(): void {
  const [root = ".", mode] = process.argv.slice(2);
  const server = createStaticServer({ root, isSpa: mode === "spa" });
  server.listen(Number(process.env.PORT), process.env.HOST);
  process.once("SIGTERM", () => {
    // Requests in progress finish; connections close once they are idle.
    server.close();
    setInterval(() => server.closeIdleConnections(), 50).unref();
  });
}

if (import.meta.main) main();
