import type { IncomingMessage } from "node:http";
import type { Site } from "@berth/core/ports";
import { countHeader, isFramedPlainly } from "./headers.ts";
import { ambiguousPath, badRequest, type Page, redirect, signIn, unknownCoding, unknownHost } from "./pages.ts";
import type { ProxyState } from "./state.ts";
import { findRoute, hostName, hostPort, type RouteEntry, type SiteEntry } from "./table.ts";

export type Resolved =
  | { readonly entry: SiteEntry; readonly asked: Asked; readonly page?: undefined }
  | { readonly entry?: undefined; readonly page: Page };

/** A request for an upstream. */
export interface Asked {
  readonly target: string;
  /** Prefix to remove from the request's target; empty when it is passed on unchanged. */
  readonly prefix: string;
  readonly isUnlisted: boolean;
}

/** The target of a request: a site, or one of the proxy's own pages. */
export function resolveRequest(state: ProxyState, request: IncomingMessage): Resolved {
  const { headers, rawHeaders, url: target = "" } = request;
  const hostHeader = headers.host ?? "";
  // We would route by the first, while the application may use the last.
  if (countHeader(rawHeaders, "host") > 1) return { page: badRequest("There is more than one Host header.") };
  if (!target.startsWith("/")) return { page: badRequest("Send the request to the path alone: GET /path.") };
  if (!isFramedPlainly(request)) return { page: unknownCoding() };
  const host = hostName(hostHeader);
  const route = findRoute(state.table, host, target);
  if (route === "unknown") return { page: unknownHost(host) };
  if (route === "ambiguous") return { page: ambiguousPath() };
  if (route.redirectToHost !== undefined) {
    const scheme = headers["x-forwarded-proto"] === "https" && state.trusts(request) ? "https" : "http";
    return { page: redirect(`${scheme}://${route.redirectToHost}${hostPort(hostHeader)}${target}`) };
  }
  if (!isAdmitted(route.entry.site, headers.authorization)) return { page: signIn() };
  return { entry: route.entry, asked: askedOf(route, target) };
}

function askedOf({ entry, path, isUnlisted }: RouteEntry, target: string): Asked {
  if (entry.site.isPrefixStripped !== true || path === "/") return { target, prefix: "", isUnlisted };
  const rest = target.slice(path.length);
  return { target: rest.startsWith("/") ? rest : `/${rest}`, prefix: path, isUnlisted };
}

function isAdmitted({ basicAuth }: Site, authorization: string | undefined): boolean {
  if (basicAuth === undefined) return true;
  const [, encoded] = /^Basic +([A-Za-z0-9+/=_-]*) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return false;
  // Loaded only for sites with a password, since it needs 3 MB.
  const { createHash, timingSafeEqual } = process.getBuiltinModule("node:crypto");
  const digest = (value: Buffer | string) => createHash("sha256").update(value).digest();
  return timingSafeEqual(digest(Buffer.from(encoded, "base64")), digest(`${basicAuth.username}:${basicAuth.password}`));
}
