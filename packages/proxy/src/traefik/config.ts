import { isPublicName } from "@berth/core/application";
import {
  coversHost,
  type HostRoute,
  headerChange,
  type OwnCertificate,
  type ProxySettings,
  type RoutedSite,
  redirectOf,
  responseHeadersOf,
  routesByHost,
  upstreamsOfRoute,
} from "../server/routed-site.ts";

/** Paths inside the container. */
export const TRAEFIK_PATHS = {
  config: "/etc/traefik/berth",
  acmeRoot: "/etc/traefik/berth/acme-root.pem",
  certificates: "/certificates",
  data: "/data",
} as const;

export interface TraefikConfigInput {
  readonly sites: Iterable<RoutedSite>;
  readonly settings: ProxySettings;
  readonly certificates: readonly OwnCertificate[];
}

/** Configuration for Traefik's file provider: all sites. Static settings are arguments, see `traefikCommand`. */
export function traefikConfig({ sites, settings, certificates }: TraefikConfigInput) {
  const routes = [...routesByHost(sites)].flatMap(([, all]) => all);
  const parts = [
    ...routes.flatMap((one, index) => routeParts(one, `r${index}`, { settings, certificates })),
    ...unknownHosts(settings),
  ];
  const routers = Object.fromEntries(parts.map(({ name, router }) => [name, router]));
  const hasSeveral = routes.some(isSpread);
  const services = Object.fromEntries([
    ...routes.map((one, index) => [`r${index}`, serviceOf(one)] as const),
    ...(settings.redirectUrl === undefined ? [] : [[UNKNOWN, servedBy([NOBODY])] as const]),
  ]);
  const middlewares = Object.assign({}, ...parts.map((part) => part.middlewares));
  return {
    // Traefik refuses an empty table.
    ...(parts.length > 0 && {
      http: {
        ...{ routers, services },
        ...(hasSeveral && { serversTransports: { [SEVERAL]: severalTransport(settings) } }),
        ...(Object.keys(middlewares).length > 0 && { middlewares }),
      },
    }),
    ...(certificates.length > 0 && { tls: { certificates: certificates.map(certificateFiles) } }),
  };
}

/** Asked last, for whatever no other router has. */
function unknownHosts({ redirectUrl }: ProxySettings) {
  if (redirectUrl === undefined) return [];
  return [false, true].map((isSecure) => {
    const name = `${UNKNOWN}-${isSecure ? "https" : "http"}`;
    const replacement = redirectUrl.replaceAll("$", "$$$$");
    return {
      name,
      middlewares: { [`${name}-to`]: { redirectRegex: { regex: "^.*$", replacement, permanent: false } } },
      router: {
        entryPoints: [isSecure ? "https" : "http"],
        rule: "PathPrefix(`/`)",
        priority: 1,
        service: UNKNOWN,
        middlewares: [`${name}-to`],
        ...(isSecure && { tls: {} }),
      },
    };
  });
}

const UNKNOWN = "unknown";

interface TraefikContext {
  readonly settings: ProxySettings;
  readonly certificates: readonly OwnCertificate[];
}

/** One router for each entry point. */
function routeParts(one: HostRoute, name: string, context: TraefikContext) {
  const { route } = one;
  const ways = route.isHttps === true ? [false, true] : [false];
  return ways.map((isSecure) => {
    const full = `${name}-${isSecure ? "https" : "http"}`;
    const chain = middlewaresOf(one, full, isSecure, context.settings);
    const middlewares = Object.keys(chain);
    return {
      name: full,
      middlewares: chain,
      router: {
        entryPoints: [isSecure ? "https" : "http"],
        rule: ruleOf(one),
        // The longest path of a host first, whatever the rule's length.
        priority: PRIORITY_BASE + route.path.length,
        service: name,
        ...(middlewares.length > 0 && { middlewares }),
        ...(isSecure && { tls: tlsOf(route.host, context) }),
      },
    };
  });
}

/** Hosts and paths contain neither quotes nor backslashes, see `routesByHost`. */
function ruleOf({ route: { host, path } }: HostRoute): string {
  const name = host.startsWith("[") ? host.slice(1, -1) : host;
  const isHost = `Host(\`${name}\`)`;
  if (path === "/") return isHost;
  const plain = decodeURIComponent(path);
  const text = /^[\w\-.~!$&'()*+,;=:@/]+$/.test(plain) ? plain : path;
  return `${isHost} && (Path(\`${text}\`) || PathPrefix(\`${text}/\`))`;
}

function middlewaresOf(one: HostRoute, name: string, isSecure: boolean, settings: ProxySettings) {
  const { site, route } = one;
  const target = redirectOf(one, isSecure, settings);
  if (target !== undefined) {
    // A plain `$` would begin a reference to a group.
    const replacement = `${target.replaceAll("$", "$$$$")}$\{1}`;
    return { [`${name}-to`]: { redirectRegex: { regex: "^[^:]+://[^/]+(.*)$", replacement, permanent: true } } };
  }
  if (isDown(one)) return { [`${name}-down`]: DOWN };
  const headers = headersOf(one);
  return {
    ...(site.basicAuth && {
      [`${name}-auth`]: { basicAuth: { users: [userOf(site.basicAuth)], removeHeader: false } },
    }),
    ...(site.isCompressed === true && { [`${name}-gzip`]: { compress: {} } }),
    ...(site.isPrefixStripped === true &&
      route.path !== "/" && { [`${name}-strip`]: { stripPrefix: { prefixes: [decodeURIComponent(route.path)] } } }),
    ...(headers && { [`${name}-headers`]: { headers } }),
    // Only before anything was sent to the upstream that did not take the connection.
    ...(isSpread(one) && {
      [`${name}-retry`]: { retry: { attempts: site.upstreams.length, initialInterval: "50ms" } },
    }),
  };
}

const userOf = ({ username, passwordHash }: { readonly username: string; readonly passwordHash: string }) =>
  `${username}:${passwordHash}`;

/** Traefik removes a header whose value is empty. */
function headersOf(one: HostRoute) {
  const [request, response] = [headerChange(one.site.requestHeaders), responseHeadersOf(one)].map(({ set, removed }) =>
    Object.fromEntries([...set, ...removed.map((name) => [name, ""] as const)]),
  );
  const isNone = Object.keys({ ...request, ...response }).length === 0;
  return isNone ? undefined : { customRequestHeaders: request, customResponseHeaders: response };
}

const isDown = ({ site }: HostRoute) => site.basicAuth === null || site.upstreams.length === 0;

const isSpread = (one: HostRoute) => !isDown(one) && one.site.upstreams.length > 1;

/** As Caddy has it: see `LOSABLE_TRANSPORT` there. */
const severalTransport = ({ spansMachines = false }: ProxySettings) => ({
  forwardingTimeouts: { dialTimeout: "500ms" },
  ...(spansMachines && { maxIdleConnsPerHost: -1 }),
});

const SEVERAL = "several";

function serviceOf(one: HostRoute) {
  const { loadBalancer } = servedBy(isDown(one) ? [NOBODY] : upstreamsOfRoute(one));
  return { loadBalancer: { ...loadBalancer, ...(isSpread(one) && { serversTransport: SEVERAL }) } };
}

function servedBy(upstreams: readonly { readonly host: string; readonly port: number }[]) {
  const servers = upstreams.map(({ host, port }) => ({
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
  }));
  return { loadBalancer: { servers, passHostHeader: true, responseForwarding: { flushInterval: "100ms" } } };
}

/** Traefik requires at least one server. */
const NOBODY = { host: "127.0.0.1", port: 9 };
/** Answers every request with 503 before a server is contacted. */
const DOWN = { ipAllowList: { sourceRange: ["255.255.255.255/32"], rejectStatusCode: 503 } };

function tlsOf(host: string, { settings, certificates }: TraefikContext) {
  const isOwn = certificates.some((certificate) => coversHost(certificate, host));
  if (isOwn || settings.tls.issuer === "internal" || !isPublicName(host)) return {};
  return { certResolver: "acme", domains: [{ main: host }] };
}

const certificateFiles = ({ name }: OwnCertificate) => ({
  certFile: `${TRAEFIK_PATHS.certificates}/${name}.crt`,
  keyFile: `${TRAEFIK_PATHS.certificates}/${name}.key`,
});

/**
 * File content. JSON is valid YAML, but the provider also runs Go's templates on it, so `{{` must not occur in texts.
 */
export const traefikFile = (config: ReturnType<typeof traefikConfig>): string =>
  `${JSON.stringify(config, undefined, 1).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => text.replaceAll("{", "\\u007b"))}\n`;

/** Traefik's static settings. */
export function traefikCommand({ httpPort, httpsPort, tls, trustedProxies }: ProxySettings): readonly string[] {
  const trusted = trustedProxies.join(",");
  return [
    "traefik",
    "--global.checknewversion=false",
    "--global.sendanonymoususage=false",
    "--log.level=WARN",
    `--providers.file.directory=${TRAEFIK_PATHS.config}`,
    "--providers.file.watch=true",
    "--providers.providersthrottleduration=100ms",
    ...(["http", "https"] as const).flatMap((name) => [
      `--entrypoints.${name}.address=:${name === "http" ? httpPort : httpsPort}`,
      // With Caddy, or another Traefik that takes its place; the one that leaves is asked for a second longer.
      `--entrypoints.${name}.reuseport=true`,
      `--entrypoints.${name}.transport.lifecycle.requestacceptgracetimeout=1s`,
      ...(trusted === "" ? [] : [`--entrypoints.${name}.forwardedheaders.trustedips=${trusted}`]),
    ]),
    ...(tls.issuer === "internal" ? [] : acmeArguments(tls)),
  ];
}

function acmeArguments({ email, acmeDirectory, acmeRoot }: ProxySettings["tls"]): readonly string[] {
  return [
    `--certificatesresolvers.acme.acme.storage=${TRAEFIK_PATHS.data}/acme.json`,
    "--certificatesresolvers.acme.acme.httpchallenge.entrypoint=http",
    ...(email === undefined ? [] : [`--certificatesresolvers.acme.acme.email=${email}`]),
    ...(acmeDirectory === undefined ? [] : [`--certificatesresolvers.acme.acme.caserver=${acmeDirectory}`]),
    ...(acmeRoot === undefined ? [] : [`--certificatesresolvers.acme.acme.cacertificates=${TRAEFIK_PATHS.acmeRoot}`]),
  ];
}

/** Above the priorities that Traefik derives from the length of other files' rules. */
const PRIORITY_BASE = 10_000;
