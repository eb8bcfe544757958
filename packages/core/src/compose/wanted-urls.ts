import { imageName } from "./database-image.ts";
import { type MagicUrl, magicUrlOf } from "./magic-key.ts";

/** A URL that is generated because the file names `SERVICE_URL_X` or `SERVICE_FQDN_X`. */
export interface WantedUrl extends Omit<MagicUrl, "command"> {
  /** Label of its host, where the name alone is already used for another target. */
  readonly label?: string;
  /** Container that receives its requests; `null`: no container of the service. */
  readonly container: string | null;
  /** Path after the host, such as `/api`; may be empty. */
  readonly path: string;
  /** The variable that gets the URL, where it is not `SERVICE_URL_X`. */
  readonly variable?: string;
}

/** A mention of a URL's variable in the file. */
export interface UrlMention {
  readonly key: string;
  /** The container in whose `environment` it is a key; `null` where it is only referenced. */
  readonly container: string | null;
  /** Its value there. */
  readonly value: string | null;
}

export interface UrlContainer {
  readonly name: string;
  readonly image: string | null;
}

interface Named {
  readonly name: string;
  /** By the container that declares them. */
  readonly declared: Map<string, Declaration[]>;
  /** Ports of variables that are only referenced. */
  readonly ports: (number | null)[];
}

interface Declaration {
  readonly port: number | null;
  /** `undefined`: the entry has no path. */
  readonly path: string | undefined;
}

type Route = Pick<WantedUrl, "container" | "port" | "path">;

/**
 * A variable that is a key of a container's `environment` sends its URL to that container, each port and path
 * separately. A variable that is only referenced belongs to the container of the same name; without one, it is a mere
 * value.
 */
export function wantedUrls(mentions: readonly UrlMention[], applications: readonly UrlContainer[]): WantedUrl[] {
  const containers = new Map(applications.map(({ name }) => [comparable(name), name] as const).reverse());
  const owners = new Set(applications.map(({ name }) => name));
  const byId = new Map<string, Named>();
  for (const { key, container, value } of mentions) {
    const url = magicUrlOf(key);
    if (url === undefined) continue;
    const id = comparable(url.name);
    const named = byId.get(id) ?? { name: url.name, declared: new Map<string, Declaration[]>(), ports: [] };
    byId.set(id, named);
    if (container === null || !owners.has(container)) named.ports.push(url.port);
    else {
      const said = named.declared.get(container) ?? [];
      said.push({ port: url.port, path: pathOf(value) });
      named.declared.set(container, said);
    }
  }
  const places = new Places();
  return [...byId].flatMap(([id, named]) => urlsOf(named, routesOf(named, containers.get(id)), places));
}

function routesOf({ declared, ports }: Named, namesake: string | undefined): readonly Route[] {
  // The container with that name goes before others that declare it.
  const owners = [...declared].sort(([a], [b]) => Number(b === namesake) - Number(a === namesake));
  const routes = owners.flatMap(([container, said]) => declaredRoutes(said).map((route) => ({ ...route, container })));
  const [main] = routes;
  const read = ports.filter((port) => port !== null);
  if (main === undefined) {
    const first = { container: namesake ?? null, port: read[0] ?? null, path: "" };
    return namesake === undefined ? [first] : [first, ...extraRoutes([first], read)];
  }
  const first = { ...main, port: main.port ?? read[0] ?? null };
  const all = [first, ...routes.slice(1)];
  return [...all, ...extraRoutes(all, read)];
}

/** Referenced ports are ports of the container that the name refers to. */
function extraRoutes(routes: readonly Route[], ports: readonly number[]): readonly Route[] {
  const known = new Set(routes.map(({ port }) => port));
  const container = routes[0]?.container ?? null;
  return [...new Set(ports)].flatMap((port) => (known.has(port) ? [] : [{ container, port, path: "" }]));
}

/** The routes of one container. An entry without a path refers to another entry that has one. */
function declaredRoutes(said: readonly Declaration[]): readonly Omit<Route, "container">[] {
  const ports = [...new Set(said.flatMap(({ port }) => port ?? []))];
  const withPath = said.flatMap(({ port, path }) => (path === undefined ? [] : [{ port, path }]));
  if (withPath.length === 0) return (ports.length > 0 ? ports : [null]).map((port) => ({ port, path: "" }));
  const byPath = Map.groupBy(withPath, ({ path }) => path);
  return [...byPath].flatMap(([path, entries]) => {
    const own = [...new Set(entries.flatMap(({ port }) => port ?? []))];
    return (own.length > 0 ? own : [ports[0] ?? null]).map((port) => ({ port, path }));
  });
}

const pathOf = (value: string | null): string | undefined => {
  if (value?.startsWith("/") !== true) return undefined;
  return value === "/" ? "" : value;
};

/** Ensures that a host and path has only one target. */
class Places {
  private readonly taken = new Map<string, Route>();

  /** The first label under which the route is free; `undefined`: there is none, or an equal route exists. */
  claim(labels: readonly string[], route: Route): string | undefined {
    for (const label of labels) {
      const place = `${comparable(label)} ${route.path}`;
      const known = this.taken.get(place);
      if (known === undefined) {
        this.taken.set(place, route);
        return label;
      }
      // Blocks of variables shared by several containers repeat the name, sometimes only for its value.
      if (route.port === null || known.port === route.port) return undefined;
    }
    return undefined;
  }
}

function urlsOf({ name }: Named, routes: readonly Route[], places: Places): readonly WantedUrl[] {
  const main = routes[0]?.container;
  return routes.flatMap((route): WantedUrl[] => {
    const ofPort = route.port === null ? [] : [`${name}_${route.port}`];
    const own = `${name}_${route.container}`;
    const others = route.container === main ? ofPort : [own, ...ofPort.map((label) => `${label}_${route.container}`)];
    const label = places.claim([name, ...others], route);
    if (label === undefined) return [];
    return [{ name, ...(label === name ? {} : { label }), ...route }];
  });
}

/** `MY_APP` of a variable matches `my-app` of a container. */
export const comparable = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** Programs that read their own URLs from variables with other names; this API family sets all of them. */
const KNOWN: Readonly<Record<string, readonly (readonly [variable: string, label: string, port: number])[]>> = {
  minio: [
    ["MINIO_SERVER_URL", "minio", 9000],
    ["MINIO_BROWSER_REDIRECT_URL", "console", 9001],
  ],
  logto: [
    ["LOGTO_ENDPOINT", "logto", 3001],
    ["LOGTO_ADMIN_ENDPOINT", "logto-admin", 3002],
  ],
  garage: [
    ["GARAGE_S3_API_URL", "s3", 3900],
    ["GARAGE_WEB_URL", "web", 3902],
    ["GARAGE_ADMIN_URL", "admin", 3903],
  ],
};

/** @param isEmpty Whether the file uses the variable without a value. */
export function knownUrls(applications: readonly UrlContainer[], isEmpty: (variable: string) => boolean): WantedUrl[] {
  return Object.entries(KNOWN).flatMap(([image, urls]) => {
    const container = applications.find((one) => imageName(one.image) === image)?.name;
    if (container === undefined || !urls.every(([variable]) => isEmpty(variable))) return [];
    return urls.map(([variable, label, port]) => ({ name: variable, label, variable, container, port, path: "" }));
  });
}
