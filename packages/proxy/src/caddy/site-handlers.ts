import { escapeHtml } from "../pages.ts";
import {
  fileNameOf,
  type HostRoute,
  headerChange,
  type ProxySettings,
  type RoutedSite,
  responseHeadersOf,
  upstreamsOfRoute,
} from "../server/routed-site.ts";
import { SESSION_COOKIE_PATTERNS } from "../session-cookie.ts";
import { countedRoute, isCounted } from "./answer-log.ts";
import { escapePlaceholders } from "./literal.ts";
import { SITE_NAME, SITE_NAME_HTML } from "./pages.ts";
import { CADDY_PATHS } from "./paths.ts";

/** Handlers of a site's route, in order. */
export function siteHandlers(
  one: HostRoute,
  { spansMachines = false }: Pick<ProxySettings, "spansMachines">,
  publicPort: number,
): readonly unknown[] {
  const { site, route } = one;
  const files = slotNames(one).map((name) => `{file.${CADDY_PATHS.slots}/${name}}`);
  const isStripped = site.isPrefixStripped === true && route.path !== "/";
  const name = {
    [SITE_NAME]: escapePlaceholders(site.name),
    [SITE_NAME_HTML]: escapePlaceholders(escapeHtml(site.name)),
  };
  const down = { handler: "error", status_code: 503 };
  if (site.basicAuth === null) return [{ handler: "vars", ...name }, down];
  // A site without upstreams has only empty slots, so testing the first is enough.
  const isDown = { match: [{ vars: { [files[0] ?? ""]: [""] } }], handle: [down], terminal: true };
  return [
    ...(site.basicAuth ? [authentication(site.basicAuth)] : []),
    { handler: "vars", ...name },
    { handler: "subroute", routes: [isDown, ...(isCounted(site) ? [countedRoute(site)] : [])] },
    ...(site.isCompressed === true ? [COMPRESSION] : []),
    ...(isStripped ? [{ handler: "rewrite", strip_path_prefix: escapePlaceholders(route.path) }] : []),
    {
      handler: "reverse_proxy",
      upstreams: files.map((dial) => ({ dial })),
      load_balancing: {
        ...(files.length > 1 && { selection_policy: { policy: "round_robin" } }),
        // Long enough for a container that restarts at once, or until its successor's address is known.
        try_duration: "3s",
        try_interval: "100ms",
        // Only what could not be sent is sent again: a request that ends its application would end it several times.
        retry_match: NEVER,
      },
      transport: files.length === 1 ? TRANSPORT : spansMachines ? LOSABLE_TRANSPORT : SEVERAL_TRANSPORT,
      ...(files.length > 1 && { health_checks: { passive: PASSIVE_CHECK } }),
      headers: proxyHeaders(one, { publicPort, prefix: isStripped ? route.path : "" }),
      // Otherwise each change of routes would close every WebSocket.
      stream_close_delay: "5m",
    },
  ];
}

/** Names of a route's slots: files with one upstream address each. */
export function slotNames({ site, route }: HostRoute): readonly string[] {
  const name = `${fileNameOf(site.id)}${route.upstreamPort === undefined ? "" : `.${route.upstreamPort}`}`;
  return Array.from({ length: Math.max(1, site.slotCount) }, (_none, index) => `${name}.${index}`);
}

/**
 * Number of slots for so many upstreams. It never shrinks, and sites with several get more than they need, so that
 * another number of upstreams needs no reload.
 */
export function slotCountFor(upstreams: number, before: number): number {
  const needed = Math.max(1, upstreams, before);
  return needed === 1 ? 1 : Math.ceil(needed / SLOTS_SHARED) * SLOTS_SHARED;
}

/** Shared evenly by 2, 3, 4, 6 and 12 upstreams, and nearly so by others. */
const SLOTS_SHARED = 12;

/** Contents of a site's slots. Surplus slots repeat upstreams. */
export function slotContents(site: RoutedSite): ReadonlyMap<string, string> {
  const contents = new Map<string, string>();
  for (const route of site.routes) {
    const upstreams = upstreamsOfRoute({ site, route });
    for (const [index, name] of slotNames({ site, route }).entries()) {
      const upstream = upstreams[index % Math.max(1, upstreams.length)];
      contents.set(name, upstream === undefined ? "" : addressOf(upstream));
    }
  }
  return contents;
}

/** Address in the form in which Caddy dials and counts it. */
export const addressOf = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;

const authentication = ({ username, passwordHash }: { readonly username: string; readonly passwordHash: string }) => ({
  handler: "authentication",
  providers: {
    http_basic: {
      realm: "Restricted",
      hash: { algorithm: "bcrypt" },
      hash_cache: {},
      accounts: [{ username: escapePlaceholders(username), password: passwordHash }],
    },
  },
});

const COMPRESSION = { handler: "encode", encodings: { gzip: {}, zstd: {} }, prefer: ["zstd", "gzip"] };

/** By default Caddy repeats a GET whose connection broke. */
const NEVER = [{ method: ["NONE"] }];

const TRANSPORT = {
  protocol: "http",
  dial_timeout: "2s",
  // Below 2 s, the shortest idle timeout of usual servers, so that the proxy closes idle connections first.
  keep_alive: { enabled: true, idle_timeout: "1500ms", max_idle_conns_per_host: 256 },
  // Requesting gzip from upstreams for clients without it would only cost compression and decompression.
  compression: false,
};

/** One of several that does not answer at all costs little before another is tried. */
const SEVERAL_TRANSPORT = { ...TRANSPORT, dial_timeout: "500ms" };

/**
 * To machines that may be lost. A request over a connection that was kept to one would wait for an answer in vain, while
 * a new connection to it fails, and the request goes to another upstream. Probes end what waits for such a machine:
 * after 15 seconds of silence, when nine of them are not answered.
 */
const LOSABLE_TRANSPORT = { ...SEVERAL_TRANSPORT, keep_alive: { enabled: false, probe_interval: "1s" } };

/**
 * An upstream that does not take a connection is left out, so that one of several that is lost costs only the first
 * request its dial timeout. Shorter than `try_duration`: where none is left, a request still waits for one to return.
 */
const PASSIVE_CHECK = { fail_duration: "2s", max_fails: 1 };

/** Spellings that CGI-like applications read as the real header. */
const FORGED = ["X_Forwarded_For", "X_Forwarded_Proto", "X_Forwarded_Host", "X_Forwarded_Port", "X_Real_Ip"];

function proxyHeaders(
  one: HostRoute,
  { publicPort, prefix }: { readonly publicPort: number; readonly prefix: string },
) {
  const request = headerChange(one.site.requestHeaders);
  const response = responseHeadersOf(one);
  return {
    request: {
      delete: ["Forwarded", ...FORGED, ...(prefix === "" ? ["X-Forwarded-Prefix"] : []), ...request.removed],
      set: {
        "X-Forwarded-Port": [String(publicPort)],
        "X-Real-Ip": ["{http.vars.client_ip}"],
        ...(prefix !== "" && { "X-Forwarded-Prefix": [escapePlaceholders(prefix)] }),
        ...literals(request.set),
      },
      replace: { Cookie: HIDDEN_SESSION },
    },
    response: { delete: response.removed, set: literals(response.set) },
  };
}

const HIDDEN_SESSION = SESSION_COOKIE_PATTERNS.map((search_regexp) => ({ search_regexp, replace: "" }));

const literals = (headers: readonly (readonly [string, string])[]) =>
  Object.fromEntries(headers.map(([name, value]) => [name, [escapePlaceholders(value)]]));
