import type { Visitor } from "@berth/control";
import { DomainError } from "@berth/core";
import { SESSION_DAYS_MAX } from "@berth/core/team";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Credentials, sessionCredentials } from "./auth.ts";

/** Contains half of a session. The proxies remove it from requests to applications. */
const COOKIE = "berth_session";
const SECURE_COOKIE = `__Host-${COOKIE}`;

export const SESSION_KEY_HEADER = "x-berth-session-key";

type Asked = Pick<FastifyRequest, "headers" | "method" | "protocol">;

/** What the headers of a request say about its browser. */
export interface Browsers {
  /** The session of a request from the dashboard's own page. @param key Given if no header contains it. */
  session(request: Asked, key?: string): Credentials | undefined;
  /** Whether a page of another or unknown origin opens the WebSocket. */
  isForeignSocket(request: Asked): boolean;
  exchange(request: FastifyRequest, reply: FastifyReply): BrowserExchange;
}

/** For operations that create and end sessions. */
export interface BrowserExchange {
  readonly visitor: Visitor;
  /** @throws DomainError `auth.foreign_page` */
  requireOwnPage(): void;
  /** The origin of the dashboard's page. @throws DomainError `auth.foreign_page` also where the request names none */
  requireOrigin(): string;
  /** @param value `undefined` removes the cookie. */
  setCookie(value: string | undefined): void;
}

/** @param publicUrl Its host counts as the dashboard's too, since a proxy in front may change `Host`. */
export function browsers(publicUrl: string | null): Browsers {
  const publicOrigin = publicUrl === null ? undefined : new URL(publicUrl);

  /** `unknown`: not a browser, or one that does not send the page's origin, as with reads over plain http. */
  function pageOf({ headers: { origin, host, "sec-fetch-site": site } }: Asked): "own" | "foreign" | "unknown" {
    if (site !== undefined && site !== "same-origin" && site !== "none") return "foreign";
    if (origin === undefined) return site === undefined ? "unknown" : "own";
    if (!URL.canParse(origin)) return "foreign";
    const { host: from } = new URL(origin);
    return from === host || from === publicOrigin?.host ? "own" : "foreign";
  }

  const isSecure = ({ protocol, headers: { host } }: Asked) =>
    protocol === "https" || (publicOrigin?.protocol === "https:" && publicOrigin.host === host);

  return {
    session(request, key = headerText(request.headers[SESSION_KEY_HEADER])) {
      const value = cookieOf(request.headers.cookie, isSecure(request) ? SECURE_COOKIE : COOKIE);
      if (value === undefined || key === undefined) return undefined;
      const page = pageOf(request);
      const isTrusted = page === "own" || (page === "unknown" && isSafe(request.method));
      return isTrusted ? sessionCredentials(value, key) : undefined;
    },
    isForeignSocket: (request) => request.headers.origin !== undefined && pageOf(request) !== "own",
    exchange: (request, reply) => ({
      visitor: { address: request.ip, userAgent: request.headers["user-agent"] },
      requireOwnPage() {
        if (pageOf(request) === "foreign") throw foreignPage();
      },
      requireOrigin() {
        const { origin } = request.headers;
        if (origin === undefined || pageOf(request) !== "own") throw foreignPage();
        return new URL(origin).origin;
      },
      setCookie: (value) => void reply.header("set-cookie", cookieText(value, isSecure(request))),
    }),
  };
}

const foreignPage = () =>
  new DomainError(
    "auth.foreign_page",
    "A page of another origin asked for this. Open the dashboard by its own address; behind a proxy that changes the host, set BERTH_PUBLIC_URL.",
  );

const isSafe = (method: string) => method === "GET" || method === "HEAD";

const headerText = (value: string | string[] | undefined) => (typeof value === "string" ? value : undefined);

function cookieOf(header: string | undefined, name: string): string | undefined {
  const pair = header?.split("; ").find((text) => text.startsWith(`${name}=`));
  return pair?.slice(name.length + 1);
}

function cookieText(value: string | undefined, isSecure: boolean): string {
  const maxAge = value === undefined ? 0 : SESSION_DAYS_MAX * 86_400;
  const name = isSecure ? SECURE_COOKIE : COOKIE;
  return [
    `${name}=${value ?? ""}`,
    "Path=/",
    `Max-Age=${maxAge}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(isSecure ? ["Secure"] : []),
  ].join("; ");
}
