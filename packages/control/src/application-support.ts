import { DomainError, invalid, isDomainError, isServerAway, notFound } from "@berth/core";
import {
  type ApplicationSettings,
  type ApplicationSource,
  type BuildPack,
  isLocalHost,
  readRunOptions,
  scalesByRequests,
} from "@berth/core/application";
import type { ApplicationRecord, EngineCapabilities, ServerRecord, Stores } from "@berth/core/ports";
import { countsAnswers, isOnOwnMachine } from "@berth/core/server";
import { loginOrigin, parseGitUrl, requireLoginOrigin } from "@berth/core/source";
import { requireOperator, type Scope } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** Build packs for sources other than repositories and uploads. */
const PACK_OF_SOURCE: Readonly<Partial<Record<ApplicationSource, BuildPack>>> = {
  dockerfile: "dockerfile",
  image: "dockerimage",
};

/** @throws DomainError `request.invalid`, `engine.unsupported`, `engine.unreachable` */
export async function requireBuildPack(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  buildPack: BuildPack,
  source: ApplicationSource,
  server: ServerRecord | undefined,
): Promise<void> {
  if (server === undefined) throw notFound("Server");
  const only = PACK_OF_SOURCE[source];
  if (only !== undefined && buildPack !== only) {
    throw invalid({ build_pack: [`Must be ${only}: the application is made from ${NAMES[only] ?? only}.`] });
  }
  const { capabilities, kind } = await engineFor(server);
  if (!capabilities.build_packs.includes(buildPack)) throw unsupported(buildPack, kind, server.name, capabilities);
}

/** @throws DomainError `engine.unsupported` if the server's engine cannot run several containers of an application */
export async function requireReplicas(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  replicas: number,
  server: ServerRecord | undefined,
): Promise<void> {
  if (replicas === 1) return;
  if (server === undefined) throw notFound("Server");
  const { capabilities, kind } = await engineFor(server);
  if (capabilities.replicas) return;
  const sentence = `The engine of server ${server.name} (${kind}) runs one instance of an application. For ${replicas}, use a server with Docker.`;
  throw new DomainError("engine.unsupported", sentence, { fields: { replicas: [sentence] } });
}

/**
 * A server that is out of reach scales its resources when it is back; a cluster without a leader may need somebody.
 * @throws DomainError `cluster.no_leader`
 */
export async function requireLeader(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  server: ServerRecord | undefined,
): Promise<void> {
  if (server === undefined) throw notFound("Server");
  try {
    const { cluster } = await engineFor(server);
    await cluster?.requireLeader();
  } catch (error) {
    if (isDomainError(error, "cluster.no_leader") || !isServerAway(error)) throw error;
  }
}

/** @throws DomainError `engine.unsupported` if the server's engine does not choose between nodes */
export async function requirePlacement(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  { swarm_placement_constraints }: Pick<ApplicationSettings, "swarm_placement_constraints">,
  server: ServerRecord | undefined,
): Promise<void> {
  if (!swarm_placement_constraints) return;
  if (server === undefined) throw notFound("Server");
  const { capabilities, kind } = await engineFor(server);
  if (capabilities.placement) return;
  const sentence = `The engine of server ${server.name} (${kind}) has no nodes to choose from. Leave out the constraints, or use a server that manages a Docker Swarm.`;
  throw new DomainError("engine.unsupported", sentence, { fields: { swarm_placement_constraints: [sentence] } });
}

/** @throws DomainError `request.invalid` if it is to be scaled by requests and the server's proxy counts none */
export function requireRequestCounts(settings: ApplicationSettings, server: ServerRecord | undefined): void {
  if (!scalesByRequests(settings)) return;
  if (server === undefined) throw notFound("Server");
  if (countsAnswers(server)) return;
  const command = `berth server-proxies update ${server.uuid} --proxy-type caddy`;
  const sentence = `Must be null: the proxy of server ${server.name} counts no requests. Change it to Caddy: ${command}`;
  throw invalid({ autoscaling_requests_per_second: [sentence] });
}

const NAMES: Readonly<Partial<Record<BuildPack, string>>> = {
  dockerfile: "a Dockerfile of its own",
  dockerimage: "an image",
};

function unsupported(buildPack: BuildPack, kind: string, server: string, { build_packs }: EngineCapabilities) {
  const others = build_packs.join(", ");
  const sentence = `The engine of server ${server} (${kind}) cannot build with ${buildPack}. Use one of ${others}, or a server with Docker.`;
  return new DomainError("engine.unsupported", sentence, { fields: { build_pack: [sentence] } });
}

/**
 * Folders of Berth's own machine are read by the control plane's user, so only its operator may name one, and only
 * for the server on this machine.
 * @throws DomainError `request.invalid`, `auth.missing_ability`, `auth.root_team_only`
 */
export function requireReachableSource(scope: Scope, repository: string, serverIp: string): void {
  if (repository === "" || parseGitUrl(repository).scheme !== "file") return;
  if (!isLocalHost(serverIp)) {
    throw invalid({ git_repository: ["file: addresses work only on the server that Berth itself runs on."] });
  }
  requireOperator(scope);
}

/**
 * The name and password of a private key may be used only for the first host they were used for.
 * @throws DomainError `request.invalid`
 */
export async function requireKeyForRepository(
  { privateKeys }: Pick<Stores, "privateKeys">,
  { private_key_id, settings }: Pick<ApplicationRecord, "private_key_id" | "settings">,
): Promise<void> {
  const key = private_key_id === null ? undefined : await privateKeys.findById(private_key_id);
  if (key === undefined || settings.git_repository === "") return;
  const origin = loginOrigin(settings.git_repository, key);
  if (origin !== undefined) requireLoginOrigin(origin, await privateKeys.secretsFor(key.id, "login", [origin]));
}

/**
 * On Berth's own machine, only its operator may use options that give host privileges.
 * @throws DomainError `auth.missing_ability`, `auth.root_team_only`, `engine.unreachable`
 */
export async function requireContainerPowers(
  { scope, engineFor }: Pick<UseCaseContext, "scope" | "engineFor">,
  options: string | null | undefined,
  server: ServerRecord | undefined,
): Promise<void> {
  if (!options || server === undefined || !isOnOwnMachine(server)) return;
  if (readRunOptions(options).powers.length === 0) return;
  const { capabilities } = await engineFor(server);
  if (capabilities.privileged_mounts) requireOperator(scope);
}
