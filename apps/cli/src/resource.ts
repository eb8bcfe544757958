import type { Database } from "@berth/core/database";
import type { Service } from "@berth/core/service";
import { choose, matchingCandidates } from "./choose.ts";
import type { Api } from "./connection/api.ts";
import { usage } from "./failure.ts";
import { printable } from "./printable.ts";

/** Kinds with commands of their own, besides applications. */
export interface NamedKinds {
  readonly database: Database;
  readonly service: Service;
}
export type NamedKind = keyof NamedKinds;

/** The object with this name or uuid. */
export async function namedResource<Kind extends NamedKind>(
  api: Api,
  kind: Kind,
  wanted: string,
): Promise<NamedKinds[Kind]> {
  const all = await listOf(api, kind);
  if (all.length === 0) throw usage(`No ${kind} is called ${printable(wanted)}.`, [HOW_TO_CREATE[kind]]);
  // Each list contains only its own kind.
  return choose(wanted, all, {
    thing: kind,
    describe: ({ status }) => status,
  }) as NamedKinds[Kind];
}

const HOW_TO_CREATE: Readonly<Record<NamedKind, string>> = {
  database: "None exists yet. Create one with: berth db create postgresql NAME, or another engine",
  service: "None exists yet. Create one with: berth services create TYPE NAME",
};

const listOf = ({ client }: Api, kind: NamedKind): Promise<readonly (Database | Service)[]> =>
  kind === "database" ? client.databases.list.query({}) : client.services.list.query({});

/** The group of commands of a kind. */
export const GROUPS: Readonly<Record<NamedKind, string>> = { database: "db", service: "services" };

/** The first database, else the first service, with this name or uuid. */
export async function findOtherKind(
  api: Api,
  wanted: string,
): Promise<{ readonly kind: NamedKind; readonly uuid: string; readonly name: string } | undefined> {
  for (const kind of ["database", "service"] as const) {
    const [other] = matchingCandidates(wanted, await listOf(api, kind));
    if (other !== undefined) return { kind, uuid: other.uuid, name: other.name };
  }
  return undefined;
}

/**
 * Refuses names of services and databases in commands for applications.
 * @throws Failure that names the commands for the object's kind
 */
export async function requireNoOtherKind(api: Api, wanted: string): Promise<void> {
  const other = await findOtherKind(api, wanted);
  if (other === undefined) return;
  const { kind } = other;
  const name = printable(other.name);
  throw usage(`${name} is a ${kind}, not an application.`, [
    `Show, start, stop, restart or delete it with: berth ${GROUPS[kind]} show|start|stop|restart|delete ${name}`,
    `Its log: berth ${GROUPS[kind]} logs ${name}. Its deployments: berth deployments ${name}`,
    `Its variables: berth env list --${kind} ${name}. Its other commands: berth ${GROUPS[kind]} --help`,
  ]);
}
