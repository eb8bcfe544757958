import { ENGINES, type EngineKind, type Server } from "@berth/core/server";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Api } from "../connection/api.ts";
import { Failure, usage } from "../failure.ts";
import { printable } from "../printable.ts";

export interface PlaceOptions {
  readonly project?: string;
  readonly environment?: string;
  readonly server?: string;
}

/** Project, environment and server of a new resource. */
export interface Place {
  readonly project: { readonly uuid: string; readonly name: string };
  readonly environment: { readonly uuid: string; readonly name: string };
  readonly server: { readonly uuid: string; readonly name: string; readonly engine: EngineKind };
}

/** Kind of object to place. */
export type PlacedKind = "application" | "database" | "image" | "service";

/** The named place; else the only one, else the one with the default name. */
export async function choosePlace({ client }: Api, options: PlaceOptions, kind: PlacedKind): Promise<Place> {
  const [servers, projects] = await Promise.all([client.servers.list.query({}), client.projects.list.query({})]);
  const server = chooseServer(servers, options.server, kind);
  const project = chosen("project", projects, options.project, "default");
  const { environments } = await client.projects.get.query({ uuid: project.uuid });
  const environment = chosen("environment", environments, options.environment, "production");
  return { project, environment, server };
}

/** Adds the flags for the place of a new resource. */
export function addPlaceFlags(command: Command): Command {
  return command
    .option("--project <name>", "project it is made in (name or uuid)")
    .option("--environment <name>", "environment it is made in (name or uuid)")
    .option("--server <name>", "server it runs on (name or uuid)");
}

type ServerFacts = Pick<Server, "uuid" | "name" | "engine" | "is_coolify_host"> & {
  readonly settings: Pick<Server["settings"], "is_build_server">;
};

/** Without a name: the only suitable server, or Berth's own machine while no other was added. */
export function chooseServer<T extends ServerFacts>(
  servers: readonly T[],
  wanted: string | undefined,
  kind: PlacedKind,
): T {
  if (wanted !== undefined) return choose(wanted, servers, { thing: "server" });
  const usable = servers.filter(({ settings }) => !settings.is_build_server);
  if (kind === "application") {
    const own = usable.find(({ is_coolify_host, engine }) => is_coolify_host && ENGINES[engine].isOwnMachineOnly);
    if (own !== undefined && usable.every(({ is_coolify_host }) => is_coolify_host)) return own;
    return chosen("server", usable, undefined, undefined);
  }
  const withDocker = usable.filter(({ engine }) => ENGINES[engine].hasContainers);
  if (withDocker.length > 0) return chosen("server", withDocker, undefined, undefined);
  throw new Failure(`No server with Docker was found, and ${kind === "image" ? "an" : "a"} ${kind} needs one.`, {
    details: [
      "Docker on this machine: install it and start Berth again.",
      "Another machine: berth servers create --help",
    ],
  });
}

function chosen<T extends { readonly uuid: string; readonly name: string }>(
  thing: "project" | "environment" | "server",
  candidates: readonly T[],
  wanted: string | undefined,
  usual: string | undefined,
): T {
  if (wanted !== undefined) return choose(wanted, candidates, { thing });
  const [only, ...others] = candidates;
  if (!only) throw new Failure(`No ${thing} exists yet.`, { details: [HOW_TO_CREATE[thing]] });
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
  server: "Ask the operator of this Berth to add a server.",
} as const;
