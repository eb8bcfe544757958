// Runs as a program of its own, under the user of the application whose files it serves: imports nothing of ours.
import { createReadStream, type Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { lookup } from "mrmime";

export interface StaticSite {
  /** Folder that is served. Nothing outside of it is, whatever links stand in it. */
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

interface Found {
  readonly path: string;
  readonly stats: Stats;
}

async function answer(site: StaticSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return sendText(response, 405, "Only GET and HEAD.");
  }
  const [rawPath = "/", ...query] = (request.url ?? "/").split("?");
  const path = decodedPath(rawPath);
  if (path === undefined) return sendText(response, 400, "The path cannot be decoded.");
  const found = await lookUp(site.root, path);
  if (found === "folder") {
    // One slash only: a location that begins with two would name another host.
    const location = `/${rawPath.replace(/^\/+/, "")}/`;
    response.setHeader("location", query.length === 0 ? location : `${location}?${query.join("?")}`);
    return sendText(response, 301, "Moved.");
  }
  if (found !== undefined) return sendFile(request, response, found);
  const page = site.isSpa && wantsPage(request, path) ? await lookUp(site.root, "/") : undefined;
  if (typeof page === "object") return sendFile(request, response, page);
  const notFound = await lookUp(site.root, "/404.html");
  if (typeof notFound === "object") return sendFile(request, response, notFound, 404);
  return sendText(response, 404, "Not found.");
}

/** `undefined` for what is no path: broken escapes and NUL. */
function decodedPath(rawPath: string): string | undefined {
  try {
    const path = decodeURIComponent(rawPath);
    return path.includes("\0") || !path.startsWith("/") ? undefined : path;
  } catch (cause) {
    if (cause instanceof URIError) return undefined;
    throw cause;
  }
}

/** The file for a path, `folder` when a slash is missing at its end, or `undefined`. */
async function lookUp(root: string, path: string): Promise<Found | "folder" | undefined> {
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.some(isHidden)) return undefined;
  const place = join(root, ...segments);
  if (path.endsWith("/"))
    return (await fileAt(root, join(place, "index.html"))) ?? fileAt(root, join(place, "index.htm"));
  const direct = (await fileAt(root, place)) ?? (await fileAt(root, `${place}.html`));
  if (direct !== undefined) return direct;
  const index = await lookUp(root, `${path}/`);
  return index === undefined ? undefined : "folder";
}

/** `.well-known` is made to be public; every other hidden file or folder, and the way up, is not. */
const isHidden = (segment: string, at: number) => segment.startsWith(".") && !(at === 0 && segment === ".well-known");

async function fileAt(root: string, place: string): Promise<Found | undefined> {
  try {
    const [realRoot, path] = await Promise.all([realpath(root), realpath(place)]);
    if (!path.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep)) return undefined;
    const stats = await stat(path);
    return stats.isFile() ? { path, stats } : undefined;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && NOT_THERE.has(cause.code)) return undefined;
    throw cause;
  }
}

const NOT_THERE: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP", "EACCES"]);

/** A page, not a script or picture: HTML in its place would only hide that it is missing. */
function wantsPage(request: IncomingMessage, path: string): boolean {
  return extname(path) === "" || (request.headers.accept ?? "").includes("text/html");
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { path, stats }: Found,
  status = 200,
): Promise<void> {
  const modifiedAt = stats.mtime.toUTCString();
  // With the time of the copy: builds that set all times alike must not pass for unchanged.
  const etag = `"${[stats.size, Math.floor(stats.mtimeMs), Math.floor(stats.ctimeMs)].map((n) => n.toString(36)).join("-")}"`;
  response.setHeader("etag", etag);
  response.setHeader("last-modified", modifiedAt);
  response.setHeader("cache-control", "public, max-age=0, must-revalidate");
  response.setHeader("x-content-type-options", "nosniff");
  if (status === 200 && isUnchanged(request, etag, stats)) {
    response.writeHead(304).end();
    return;
  }
  response.setHeader("content-type", contentType(path));
  response.setHeader("accept-ranges", "bytes");
  const range = status === 200 ? requestedRange(request, etag, modifiedAt, stats.size) : undefined;
  if (range === "unsatisfiable") {
    response.setHeader("content-range", `bytes */${stats.size}`);
    return sendText(response, 416, "The range lies outside of the file.");
  }
  const { start, end } = range ?? { start: 0, end: stats.size - 1 };
  response.setHeader("content-length", end - start + 1);
  if (range !== undefined) response.setHeader("content-range", `bytes ${start}-${end}/${stats.size}`);
  response.writeHead(range === undefined ? status : 206);
  if (request.method === "HEAD" || stats.size === 0) {
    response.end();
    return;
  }
  await pipeline(createReadStream(path, { start, end }), response).catch((cause: unknown) => {
    // The browser went away.
    if (!request.destroyed && !response.destroyed) throw cause;
  });
}

function isUnchanged(request: IncomingMessage, etag: string, stats: Stats): boolean {
  const tags = request.headers["if-none-match"];
  if (tags !== undefined) {
    return tags.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
  }
  const since = Date.parse(request.headers["if-modified-since"] ?? "");
  return Math.floor(stats.mtimeMs / 1000) * 1000 <= since;
}

/** One range is served. Several in one request are rare and may be answered with the whole file. */
function requestedRange(
  request: IncomingMessage,
  etag: string,
  modifiedAt: string,
  size: number,
): { readonly start: number; readonly end: number } | "unsatisfiable" | undefined {
  const condition = request.headers["if-range"];
  if (condition !== undefined && condition !== etag && condition !== modifiedAt) return undefined;
  const match = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "");
  const [, first = "", last = ""] = match ?? [];
  if (first === "" && last === "") return undefined;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== "" && last !== "" && Number(last) < start) return undefined;
  return start > end ? "unsatisfiable" : { start, end };
}

function contentType(path: string): string {
  const type = lookup(path) ?? "application/octet-stream";
  return /^text\/|javascript|json|xml/.test(type) ? `${type}; charset=utf-8` : type;
}

function sendText(response: ServerResponse, status: number, text: string): void {
  const body = response.req.method === "HEAD" ? "" : `${text}\n`;
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.setHeader("content-length", Buffer.byteLength(`${text}\n`));
  response.writeHead(status).end(body);
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
