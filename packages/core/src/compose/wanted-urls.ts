import { imageName } from "./database-image.ts";
import { type MagicUrl, magicUrlOf } from "./magic-key.ts";

/** A URL that is made because the text names `SERVICE_URL_X` or `SERVICE_FQDN_X`. */
export interface WantedUrl extends Omit<MagicUrl, "command"> {
  /** What its host is called, where the name alone would lead one host to two places. */
  readonly label?: string;
  /** Container that gets what comes for it; `null`: none of the service's. */
  readonly container: string | null;
  /** Below its host: `/api`, or empty. */
  readonly path: string;
  /** The variable of the container's own that holds it, where no `SERVICE_URL_X` does. */
  readonly variable?: string;
}

/** A key of the text, where it names a URL. */
export interface UrlMention {
  readonly key: string;
  /** It stands on the left of an entry of this container. */
  readonly container: string | null;
  /** What stands on the right of it. */
  readonly value: string | null;
}

export interface UrlContainer {
  readonly name: string;
  readonly image: string | null;
}

interface Named {
  readonly name: string;
  /** By the container that they stand on. */
  readonly declared: Map<string, Declaration[]>;
  /** Of those that are only read. */
  readonly ports: (number | null)[];
}

interface Declaration {
  readonly port: number | null;
  /** `undefined`: the entry says none. */
  readonly path: string | undefined;
}

type Route = Pick<WantedUrl, "container" | "port" | "path">;

/**
 * A name on the left of an entry leads to the container that it stands on, each port and each path to its own place. One
 * that is only read leads to the container that is called so, else nowhere: it is a value and nothing more.
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
  // The container that is called so goes before others on which the same name stands.
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

/** A port that is only read is one of the container that the name leads to. */
function extraRoutes(routes: readonly Route[], ports: readonly number[]): readonly Route[] {
  const known = new Set(routes.map(({ port }) => port));
  const container = routes[0]?.container ?? null;
  return [...new Set(ports)].flatMap((port) => (known.has(port) ? [] : [{ container, port, path: "" }]));
}

/** Of one container. An entry without a path asks for the value of another that has one. */
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

/** A host and a path lead to one place. */
class Places {
  private readonly taken = new Map<string, Route>();

  /** The first label under which the route has a place of its own; `undefined`: none, or another one is just it. */
  claim(labels: readonly string[], route: Route): string | undefined {
    for (const label of labels) {
      const place = `${comparable(label)} ${route.path}`;
      const known = this.taken.get(place);
      if (known === undefined) {
        this.taken.set(place, route);
        return label;
      }
      // Blocks of variables that several containers share name it again, some of them for its value alone.
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

/** `MY_APP` of a variable is `my-app` of a container. */
export const comparable = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** Programs that must be told each of their URLs by variables of their own; this API family makes them all. */
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

/** @param isEmpty Whether the text uses the variable and gives it no value. */
export function knownUrls(applications: readonly UrlContainer[], isEmpty: (variable: string) => boolean): WantedUrl[] {
  return Object.entries(KNOWN).flatMap(([image, urls]) => {
    const container = applications.find((one) => imageName(one.image) === image)?.name;
    if (container === undefined || !urls.every(([variable]) => isEmpty(variable))) return [];
    return urls.map(([variable, label, port]) => ({ name: variable, label, variable, container, port, path: "" }));
  });
}
