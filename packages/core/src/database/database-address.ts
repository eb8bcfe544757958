import { type DatabaseProperty, databaseIn, referenceText, type SharedReference } from "../env/env-value.ts";
import type { DatabaseClient, DatabaseRecord, NamedDatabase } from "../ports/database.ts";
import type { SeenVariable } from "../ports/shared-variable.ts";
import { ENGINES } from "../server/server-settings.ts";
import { isContainersHost, type KnownValues, outerHost, urlOfDatabase } from "./database-view.ts";

/** How a client reaches a database: by its name in a network, by a port of the same machine, or by a public port. */
export const DATABASE_ROUTES = ["network", "loopback", "public_port"] as const;
export type DatabaseRoute = (typeof DATABASE_ROUTES)[number];

/** `problem` says why it cannot be reached, and what to do. */
export type DatabaseReach = { readonly route: DatabaseRoute; readonly url: string } | { readonly problem: string };

type Reached = Pick<
  DatabaseRecord,
  | "uuid"
  | "name"
  | "engine"
  | "settings"
  | "fields"
  | "is_public"
  | "public_port"
  | "public_port_problem"
  | "loopback_port"
  | "server_id"
  | "destination_id"
  | "placement"
>;

/** Whether the client reaches it by a loopback port of the same machine, which need not be public. */
export function isOnOwnMachine(client: Pick<DatabaseClient, "server_engine">, { placement }: Reached): boolean {
  return ENGINES[client.server_engine].isOwnMachineOnly && isContainersHost(placement.server_ip);
}

/** The URL of a database that works where the client runs. */
export function databaseReach(client: DatabaseClient, database: Reached, secrets: KnownValues): DatabaseReach {
  const { uuid, name, server_id, destination_id, placement } = database;
  const isNear = server_id === client.server_id && destination_id === client.destination_id;
  if (isNear && client.is_in_network) return { route: "network", url: urlOfDatabase(database, secrets) };

  const isPublic = database.is_public && database.public_port !== null;
  const port = isPublic ? database.public_port : database.loopback_port;
  if (isOnOwnMachine(client, database) && port !== null) {
    return portAddress(database, secrets, { route: "loopback", host: "127.0.0.1", port });
  }
  if (isPublic && port !== null && !isContainersHost(placement.server_ip)) {
    return portAddress(database, secrets, { route: "public_port", host: outerHost(placement.server_ip), port });
  }

  const problem = `The database ${name} cannot be reached from ${client.name}`;
  if (isNear) {
    const remedy = `Set connect_to_docker_network of ${client.name}, then deploy it again.`;
    return { problem: `${problem}: the containers of ${client.name} have a network of their own. ${remedy}` };
  }
  if (isContainersHost(placement.server_ip)) {
    const remedy = `Create the database in the same destination of server ${client.server_name} as ${client.name}.`;
    return {
      problem: `${problem}: it runs in another network of Berth's own machine, which has no public address. ${remedy}`,
    };
  }
  const remedy = `Give it a public port: berth db update ${uuid} --is-public --public-port 15432`;
  return { problem: `${problem}: it is in another network or on another server, and not public. ${remedy}` };
}

/** The value of a reference to a database; `undefined` if it references no database, or no database has that name or uuid. */
export function seenDatabase(reference: SharedReference, seen: readonly NamedDatabase[]): SeenVariable | undefined {
  const asked = databaseIn(reference);
  if (asked === undefined) return undefined;
  const { name, property } = asked;
  const found = seen.filter(({ database }) => database.uuid === name || database.name === name);
  const [first] = found;
  if (first === undefined) return undefined;
  const { resource_id, client, database, secrets, is_shown_once } = first;
  const address = found.length > 1 ? ambiguous(name, found) : databaseReach(client, database, secrets);
  const variable = { ...reference, resource_id, is_shown_once };
  if ("problem" in address) return { ...variable, value: null, ...address };
  const value = partOf(address.url, property);
  if (value !== "") return { ...variable, value };
  const problem = `The URL of the database ${name} has no ${property}. Write the value instead of ${referenceText(reference)}.`;
  return { ...variable, value: null, problem };
}

/** A part of a database's URL as programs expect it, which is empty where the URL lacks it. */
function partOf(url: string, property: DatabaseProperty): string {
  const { hostname, port, username, password, pathname } = new URL(url);
  const parts: Readonly<Record<DatabaseProperty, string>> = {
    url,
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    name: decodeURIComponent(pathname.slice(1)),
  };
  return parts[property];
}

function ambiguous(name: string, found: readonly NamedDatabase[]) {
  const uuids = found.map(({ database }) => database.uuid).sort();
  const example = `{{ database.${uuids[0]}.url }}`;
  return {
    problem: `${found.length} databases of the environment are named ${name}: ${uuids.join(", ")}. Name one by its uuid, such as ${example}, or give them different names.`,
  };
}

interface Port {
  readonly route: DatabaseRoute;
  readonly host: string;
  readonly port: number;
}

function portAddress(database: Reached, secrets: KnownValues, { route, host, port }: Port): DatabaseReach {
  const { name, public_port_problem } = database;
  if (public_port_problem !== null)
    return { problem: `The database ${name} cannot be reached: ${public_port_problem}` };
  return { route, url: urlOfDatabase(database, secrets, { host, port }) };
}
