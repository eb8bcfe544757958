import { choose } from "../choose.ts";
import type { Api } from "../connection/api.ts";
import { Failure, usage } from "../failure.ts";
import { printable } from "../printable.ts";

export interface PlaceOptions {
  readonly project?: string;
  readonly environment?: string;
  readonly server?: string;
}

/** Where a new application is made. */
export interface Place {
  readonly project: { readonly uuid: string; readonly name: string };
  readonly environment: { readonly uuid: string; readonly name: string };
  readonly server: { readonly uuid: string; readonly name: string };
}

/** As named; else the only one there is, else the one with the usual name. */
export async function choosePlace({ client }: Api, options: PlaceOptions): Promise<Place> {
  const [servers, projects] = await Promise.all([client.servers.list.query({}), client.projects.list.query({})]);
  const server = chosen("server", servers, options.server, undefined);
  const project = chosen("project", projects, options.project, "default");
  const { environments } = await client.projects.get.query({ uuid: project.uuid });
  const environment = chosen("environment", environments, options.environment, "production");
  return { project, environment, server };
}

function chosen<T extends { readonly uuid: string; readonly name: string }>(
  thing: "project" | "environment" | "server",
  candidates: readonly T[],
  wanted: string | undefined,
  usual: string | undefined,
): T {
  if (wanted !== undefined) return choose(wanted, candidates, { thing });
  const [only, ...others] = candidates;
  if (!only) throw new Failure(`There is no ${thing} yet.`, { details: [HOW_TO_CREATE[thing]] });
  if (others.length === 0) return only;
  const byName = candidates.find(({ name }) => name.toLowerCase() === usual);
  if (byName) return byName;
  throw usage(`There are ${candidates.length} ${thing}s. Choose one with --${thing}:`, [
    ...candidates.map(({ uuid, name }) => `${uuid}  ${printable(name)}`),
  ]);
}

const HOW_TO_CREATE = {
  project: "Create one with: berth projects create NAME",
  environment: "Create one with: berth api POST /projects/PROJECT/environments -f name=production",
  server: "A server is added by whoever runs Berth.",
} as const;
