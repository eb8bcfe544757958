import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { WEB } from "#assets";

/** Paths for programs: unknown paths below them get an API error instead of the page. */
const OTHER_PATHS = /^\/(api|trpc|docs|webhooks|auth|terminal|assets)(\/|$)/;
const NONCE = "__CSP_NONCE__";

export interface Dashboard {
  /** Sends the page with a new nonce. */
  readonly send: (reply: FastifyReply) => FastifyReply;
  /** Whether a browser requests a page at one of the dashboard's paths. */
  readonly serves: (request: FastifyRequest) => boolean;
}

/**
 * Serves the newest build of the dashboard.
 * @returns `undefined` if the dashboard was not built; the server works without it.
 */
export function dashboard(app: FastifyInstance, folder = newestBuild()): Dashboard | undefined {
  if (folder === undefined) return undefined;
  const parts = readFileSync(join(folder, "index.html"), "utf8").split(NONCE);
  app.register(fastifyStatic, {
    root: join(folder, "assets"),
    prefix: "/assets/",
    index: false,
    decorateReply: false,
    preCompressed: true,
    // File names contain a hash of their content.
    maxAge: "365d",
    immutable: true,
    setHeaders: (response) => response.setHeader("vary", "accept-encoding"),
  });
  const send = (reply: FastifyReply) => {
    const nonce = randomBytes(16).toString("base64");
    return reply
      .code(200)
      .headers({ "content-security-policy": policy(nonce), "cache-control": "no-cache" })
      .type("text/html; charset=utf-8")
      .send(parts.join(nonce));
  };
  app.get("/", (_request, reply) => send(reply));
  return {
    send,
    serves: ({ method, url, headers }) =>
      method === "GET" && (headers.accept ?? "").includes("text/html") && !OTHER_PATHS.test(url.replace(/[?#].*$/, "")),
  };
}

/** `tooling/build` writes the name of the newest build into a file. */
function newestBuild(): string | undefined {
  const folder = fileURLToPath(WEB);
  try {
    const { key } = JSON.parse(readFileSync(join(folder, "current.json"), "utf8")) as { key: string };
    return join(folder, key);
  } catch {
    return undefined;
  }
}

/** Style elements created by our scripts have the nonce; nothing is loaded from other origins. */
const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
