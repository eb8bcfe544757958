import type { Database, Service } from "@berth/core";
import { choose } from "./choose.ts";
import type { Api } from "./connection/api.ts";

/** What has commands of its own, besides applications. */
export interface NamedKinds {
  readonly database: Database;
  readonly service: Service;
}
export type NamedKind = keyof NamedKinds;

/** The one that a name or uuid means. */
export async function namedResource<Kind extends NamedKind>(
  { client }: Api,
  kind: Kind,
  wanted: string,
): Promise<NamedKinds[Kind]> {
  const all: readonly (Database | Service)[] =
    kind === "database" ? await client.databases.list.query({}) : await client.services.list.query({});
  // Each list has its own kind only.
  return choose(wanted, all, { thing: kind, describe: ({ status }) => status }) as NamedKinds[Kind];
}
