import { type Application, namesake } from "@berth/core/application";
import { defaultServers, type EngineKind, type Server } from "@berth/core/server";
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
export interface ChosenPlacement {
  readonly project: { readonly uuid: string; readonly name: string };
  readonly environment: { readonly uuid: string; readonly name: string };
  readonly server: { readonly uuid: string; readonly name: string; readonly engine: EngineKind };
}

/** Kind of object to place. */
export type PlacedKind = "application" | "database" | "image" | "service";

/** As named; else the only one there is, else the one with the usual name. */
export async function choosePlace(api: Api, options: PlaceOptions, kind: PlacedKind): Promise<ChosenPlacement> {
  const server = chooseServer(await api.client.servers.list.query({}), options.server, kind);
  return { ...(await chooseEnvironment(api, options)), server };
}

export async function chooseEnvironment(
  { client }: Api,
  options: PlaceOptions,
): Promise<Omit<ChosenPlacement, "server">> {
  const projects = await client.projects.list.query({});
  const project = chosen("project", projects, options.project, "default");
  const { environments } = await client.projects.get.query({ uuid: project.uuid });
  const environment = chosen("environment", environments, options.environment, "production");
  return { project, environment };
}

/**
 * Keeps a command that is typed twice from making a second resource of one name: neither commands nor references such as
 * `{{ database.shop.url }}` would find either of them from then on.
 *
 * @throws Failure when the environment has one of that name
 */
export function requireFreeName<T extends Named>(existing: readonly T[], wanted: NewName<T>): void {
  const { name, kind, place } = wanted;
  const { project, environment } = place;
  const same = namesake(existing, { name, project_uuid: project.uuid, environment_name: environment.name } as T);
  if (same === undefined) return;
  const where = `${printable(project.name)}/${printable(environment.name)}`;
  throw new Failure(`There is ${kind === "application" ? "an" : "a"} ${kind} ${printable(name)} in ${where} already.`, {
    details: wanted.remedies(same),
  });
}

type Named = Pick<Application, "name" | "project_uuid" | "environment_name">;

interface NewName<T> {
  readonly name: string;
  readonly place: Omit<ChosenPlacement, "server">;
  readonly kind: "application" | "database" | "service";
  /** What to do with the one that exists, or instead. */
  remedies(same: T): readonly string[];
}

/** Adds the flags for the place of a new resource. */
export function addPlaceFlags(command: Command): Command {
  return command
    .option("--project <name>", "project it is made in (name or uuid)")
    .option("--environment <name>", "environment it is made in (name or uuid)")
    .option("--server <name>", "server it runs on (name or uuid)");
}

type ServerFacts = Pick<Server, "uuid" | "name" | "engine" | "is_coolify_host" | "swarm_cluster"> & {
  readonly settings: Pick<Server["settings"], "is_build_server" | "is_reachable" | "is_usable">;
};

/** @throws Failure when none can run it, or when several could and none was named */
export function chooseServer<T extends ServerFacts>(
  servers: readonly T[],
  wanted: string | undefined,
  kind: PlacedKind,
): T {
  if (wanted !== undefined) return choose(wanted, servers, { thing: "server" });
  const needsContainers = kind !== "application";
  const possible = defaultServers(servers, { needsContainers });
  if (possible.length > 0 || !needsContainers) return chosen("server", possible, undefined, undefined);
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
