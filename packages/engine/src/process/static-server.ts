// Runs as a program of its own, under the user of the application whose files it serves: imports nothing of ours.
import { realpath } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { type SendResult, send } from "@fastify/send";

export interface StaticSite {
  /** Folder that is served. Nothing outside of it is, whatever links it contains. */
  readonly root: string;
  /** Pages that do not exist answer with `/index.html`, for applications that route in the browser. */
  readonly isSpa: boolean;
}

/** Serves a folder: index files, conditional and range requests, `404.html`; no folder lists and no hidden files. */
export function createStaticServer(site: StaticSite): Server {
  const server = createServer((request, response) => {
    answer(site, request, response).catch((cause: unknown) => {
      console.error(cause);
      if (response.headersSent) response.destroy();
      else sendText(response, 500, "Internal server error.");
    });
  });
  // Longer than a proxy keeps an idle connection, so that it is never closed under a request.
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
    // One slash only: a location that begins with two would name another host.
    const location = `/${path.replace(/^\/+/, "")}/`;
    response.setHeader("location", query.length === 0 ? location : `${location}?${query.join("?")}`);
    return sendText(response, 301, "Moved.");
  }
  if (found !== undefined) return await sendFile(response, found);
  const page = isSpa && wantsPage(request, path) ? await lookUp(root, request, "/") : undefined;
  if (page !== undefined) return await sendFile(response, page);
  // The conditions and the range of the request are not about this page.
  request.headers = {};
  const notFound = await lookUp(root, request, "/404.html");
  if (notFound === undefined) return sendText(response, 404, "Not found.");
  return await sendFile(response, { ...notFound, statusCode: 404 });
}

/** A path without an ending is also that of a page: exported sites have `docs.html` beside the folder `docs`. */
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
        // The tag is made of this time: builds that set all times alike must not pass for unchanged.
        if (stats.ctime > stats.mtime) stats.mtime = stats.ctime;
      },
    });
    return result.type === "error" && !ANSWERED.has(result.statusCode) ? undefined : result;
  } catch (cause) {
    if (cause instanceof OutsideError || (cause instanceof Error && "code" in cause)) return undefined;
    throw cause;
  }
}

/** A link leads out of the folder. */
class OutsideError extends Error {}

/** A broken path, a failed condition, a range outside of the file. Every other error means that the file is missing. */
const ANSWERED: ReadonlySet<number> = new Set([400, 412, 416]);

/** `.well-known` is made to be public; every other hidden file or folder is not. */
function isWellKnown(path: string): boolean {
  try {
    return /^\/+\.well-known\/(?!.*\/\.)[^.]/.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}

/** A page, not a script or picture: HTML in its place would only hide that it is missing. */
function wantsPage(request: IncomingMessage, path: string): boolean {
  return extname(path) === "" || (request.headers.accept ?? "").includes("text/html");
}

async function sendFile(response: ServerResponse, { statusCode, headers, stream }: SendResult): Promise<void> {
  // For files without an ending that is known.
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("cache-control", "public, max-age=0, must-revalidate");
  response.setHeader("x-content-type-options", "nosniff");
  response.writeHead(statusCode, headers);
  await pipeline(stream, response).catch((cause: unknown) => {
    // The browser went away.
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
    // Requests in flight are finished, connections closed once they are idle.
    server.close();
    setInterval(() => server.closeIdleConnections(), 50).unref();
  });
}

if (import.meta.main) main();
