import { isPublicName } from "@berth/core/application";
import {
  coversHost,
  type HostRoute,
  type OwnCertificate,
  type ProxySettings,
  type RoutedSite,
  redirectOf,
  routesByHost,
} from "../server/routed-site.ts";
import { answerLogs, hasCounted, loggedHosts, UNCOUNTED } from "./answer-log.ts";
import { escapePlaceholders, quoted } from "./literal.ts";
import { errorRoutes } from "./pages.ts";
import { CADDY_PATHS } from "./paths.ts";
import { addressOf, siteHandlers } from "./site-handlers.ts";

export interface CaddyConfigInput {
  readonly sites: Iterable<RoutedSite>;
  readonly settings: ProxySettings;
  readonly certificates: readonly OwnCertificate[];
}

/** Caddy's configuration without upstream addresses, which are read from the sites' slots. */
export function caddyConfig({ sites, settings, certificates }: CaddyConfigInput) {
  const all = [...sites];
  const hosts = routesByHost(all);
  const countedHosts = [...hosts].flatMap(([host, routes]) => (hasCounted(routes) ? namesOf(host) : []));
  const trusted = settings.trustedProxies;
  const server = (isSecure: boolean) => ({
    listen: [`:${isSecure ? settings.httpsPort : settings.httpPort}`],
    routes: [
      ADD_REQUEST_ID,
      LEAVE,
      ...(isSecure ? [] : challengesOf(settings)),
      ...hostRoutes(hosts, isSecure, settings),
      unknownHost(settings),
    ],
    errors: { routes: [...(countedHosts.length > 0 ? [{ handle: [UNCOUNTED] }] : []), ...errorRoutes()] },
    ...loggedHosts(countedHosts),
    // Berth configures redirects and certificates explicitly.
    automatic_https: { disable: true },
    read_header_timeout: "30s",
    // An application may answer while it still reads a request. Without this, Caddy ends the body at the first bytes of
    // the answer, and cuts some of these connections.
    enable_full_duplex: true,
    ...(trusted.length > 0 && { trusted_proxies: { source: "static", ranges: trusted }, trusted_proxies_strict: 1 }),
  });
  return {
    // Without this block in it, a refused configuration would close the admin socket for good.
    admin: { listen: `unix/${CADDY_PATHS.adminSocket}|0666`, config: { persist: false } },
    logging: { logs: answerLogs(all) },
    apps: {
      http: {
        http_port: settings.httpPort,
        https_port: settings.httpsPort,
        // Grace period of replaced routes, long enough for downloads. Stopping the container waits less.
        grace_period: "1h",
        // The successor of this Caddy listens by now: clients that keep connections are sent to it by their next answer.
        shutdown_delay: "1s",
        servers: {
          http: { ...server(false), protocols: ["h1"] },
          https: { ...server(true), protocols: ["h1", "h2"], tls_connection_policies: [{}] },
        },
      },
      tls: tlsApp(hosts, settings, certificates),
      pki: { certificate_authorities: { local: { install_trust: false } } },
    },
  };
}

type Hosts = ReturnType<typeof routesByHost>;

const error = (status: number) => ({ handler: "error", status_code: status });

const ADD_REQUEST_ID = {
  match: [{ not: [{ header: { "X-Request-Id": ["*"] } }] }],
  handle: [{ handler: "headers", request: { set: { "X-Request-Id": ["{http.request.uuid}"] } } }],
};

const unknownHost = ({ redirectUrl }: ProxySettings) =>
  redirectUrl === undefined
    ? { handle: [error(404)] }
    : {
        handle: [
          { handler: "static_response", status_code: 302, headers: { Location: [escapePlaceholders(redirectUrl)] } },
        ],
      };

/** Asks clients to connect anew, once it was told to end. */
const LEAVE = {
  match: [{ vars: { "{http.shutting_down}": ["true"] } }],
  handle: [{ handler: "headers", response: { set: { Connection: ["close"] }, deferred: true } }],
};

/** An authority may ask any node that a name points to. */
const challengesOf = ({ issuingProxy: proxy }: ProxySettings) =>
  proxy === undefined
    ? []
    : [
        {
          match: [{ path: ["/.well-known/acme-challenge/*"] }],
          handle: [{ handler: "reverse_proxy", upstreams: [{ dial: addressOf(proxy) }] }],
          terminal: true,
        },
      ];

function hostRoutes(hosts: Hosts, isSecure: boolean, settings: ProxySettings) {
  return [...hosts].flatMap(([host, all]) => {
    const routes = isSecure ? all.filter(({ route }) => route.isHttps === true) : all;
    if (routes.length === 0) return [];
    return [{ match: [{ host: namesOf(host) }], handle: [subroute(routes, isSecure, settings)], terminal: true }];
  });
}

/** Caddy matches IPv6 addresses without brackets, and treats a name with a trailing dot as another name. */
const namesOf = (host: string) => (host.startsWith("[") ? [host.slice(1, -1)] : [host, `${host}.`]);

function subroute(routes: readonly HostRoute[], isSecure: boolean, settings: ProxySettings) {
  const paths = routes.map((one) => ({
    ...(one.route.path !== "/" && { match: [{ path_regexp: { pattern: pathPattern(one.route.path) } }] }),
    handle: handlersOf(one, isSecure, settings),
    terminal: true,
  }));
  const isWholeHost = routes.length === 1 && routes[0]?.route.path === "/";
  const ambiguous = { match: [AMBIGUOUS_PATH], handle: [error(400)], terminal: true };
  return { handler: "subroute", routes: [...(isWholeHost ? [] : [ambiguous]), ...paths, { handle: [error(404)] }] };
}

/** Caddy matches paths after decoding escapes and removing dots and double slashes. */
const pathPattern = (path: string) => `^${quoted(decodeURIComponent(path))}(/|$)`;

/** A path with `..` in some encoding may be routed to one site, while the application reads it as a path of another. */
const AMBIGUOUS_PATH = {
  vars_regexp: {
    "{http.request.uri}": {
      pattern: "(?i)^[^?]*([/\\\\]|%(25)?(2f|5c))(\\.|%(25)?2e){2}(;[^/?]*)?([/\\\\?]|%(25)?(2f|5c)|$)",
    },
  },
};

function handlersOf(one: HostRoute, isSecure: boolean, settings: ProxySettings): readonly unknown[] {
  const target = redirectOf(one, isSecure, settings);
  // 308 keeps method and body, so a form sent to the wrong host still arrives.
  if (target !== undefined) {
    const location = `${target}{http.request.uri}`;
    return [{ handler: "static_response", status_code: 308, headers: { Location: [location] } }];
  }
  return siteHandlers(one, settings, isSecure ? settings.httpsPort : settings.httpPort);
}

function tlsApp(
  hosts: Hosts,
  { tls, issuesCertificates = true, spansMachines }: ProxySettings,
  certificates: readonly OwnCertificate[],
) {
  const secure = [...hosts].filter(([, routes]) => routes.some(({ route }) => route.isHttps === true));
  const names = secure
    .map(([host]) => (host.startsWith("[") ? host.slice(1, -1) : host))
    .filter((host) => issuesCertificates && !certificates.some((certificate) => coversHost(certificate, host)));
  const inner = tls.issuer === "internal" ? names : names.filter((name) => !isPublicName(name));
  const outer = names.filter((name) => !inner.includes(name));
  const policies = [
    ...(inner.length > 0 ? [{ subjects: inner, issuers: [{ module: "internal" }] }] : []),
    ...(outer.length > 0 ? [{ subjects: outer, ...issuersOf(tls, spansMachines) }] : []),
  ];
  return {
    certificates: {
      ...(names.length > 0 && { automate: names }),
      ...(certificates.length > 0 && { load_files: certificates.map(loadFile) }),
    },
    ...(policies.length > 0 && { automation: { policies } }),
  };
}

/** Without settings, Caddy's default: a public authority. */
function issuersOf({ email, acmeDirectory, acmeRoot }: ProxySettings["tls"], spansMachines = false) {
  if (email === undefined && acmeDirectory === undefined && !spansMachines) return {};
  const acme = {
    module: "acme",
    ...(email && { email }),
    ...(acmeDirectory && { ca: acmeDirectory }),
    ...(acmeRoot && { trusted_roots_pem_files: [CADDY_PATHS.acmeRoot] }),
    // The authority may ask another node, which can pass requests on to this proxy, but no TLS handshake.
    ...(spansMachines && { challenges: { "tls-alpn": { disabled: true } } }),
  };
  return { issuers: [acme] };
}

const loadFile = ({ name, digest }: OwnCertificate) => ({
  certificate: `${CADDY_PATHS.certificates}/${name}.crt`,
  key: `${CADDY_PATHS.certificates}/${name}.key`,
  // Caddy ignores an unchanged configuration; the tag changes with the files.
  tags: [`sha256:${digest}`],
});
