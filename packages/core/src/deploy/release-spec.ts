import type { ApplicationSecrets, ApplicationSettings } from "../application/application.ts";
import { lastingContainerName } from "../application/container-name.ts";
import { placementOf } from "../application/node-placement.ts";
import { pullRequestRef } from "../application/preview.ts";
import { replicasWanted } from "../application/replicas.ts";
import { type ComposeCommand, commandFiles, NO_COMMAND, readComposeCommand } from "../compose/custom-command.ts";
import { isMade } from "../compose/magic-key.ts";
import { withProfiles } from "../compose/profiles.ts";
import { DomainError } from "../errors.ts";
import type { ApplicationRecord, DeploymentRecord, DomainClaim, EnvRecord } from "../ports/records.ts";
import type { GitCredentials, SourceSpec } from "../ports/source.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { readDockerImage } from "../server/docker-image.ts";
import { repositoryUrl } from "../source/hosted-repository.ts";
import { repositoryFor } from "../source/private-key.ts";
import type { Artifact, BuildConfig, BuildRequest } from "./artifact.ts";
import { urlValues } from "./compose-values.ts";
import { memoryBytes } from "./memory.ts";
import { mountsOf } from "./mounts.ts";
import type { ReleaseLimits, ReleaseSpec } from "./release.ts";
import { containerOptions } from "./release-container.ts";
import { buildtimeEnv, runtimeEnv, userRuntimeEnv } from "./release-env.ts";
import { requireVariables } from "./required-variables.ts";
import { composeOf } from "./service-release.ts";
import type { StackArtifact, StackOptions } from "./stack.ts";
import { stackOptions } from "./stack-options.ts";

/** Input for a release of an application, read at one moment. */
export interface ApplicationInput {
  readonly application: ApplicationRecord;
  readonly secrets: ApplicationSecrets;
  readonly deployment: DeploymentRecord;
  readonly domains: readonly DomainClaim[];
  readonly envs: readonly EnvRecord[];
  readonly storages: readonly StorageRecord[];
}

type SourceOwner = Pick<
  ApplicationRecord,
  "uuid" | "team_id" | "source" | "private_key_id" | "github_app" | "settings"
>;
type DeployedSource = Pick<DeploymentRecord, "commit" | "pull_request_id" | "git_type">;

/**
 * The source to fetch. The commit `HEAD` means the configured commit, or the newest one of a pull request.
 * @throws DomainError `source.not_found` for a pull request whose host has no ref for its newest commit
 */
export function sourceSpec(
  application: SourceOwner,
  deployment: DeployedSource,
  credentials?: GitCredentials | undefined,
): SourceSpec {
  const { settings } = application;
  switch (application.source) {
    case "git":
      return {
        type: "git",
        repository: repositoryFor(repositoryUrl(application), credentials),
        ...(deployment.pull_request_id === 0
          ? wantedCommit(settings, deployment)
          : pullRequestHead(application, deployment)),
        credentials,
        cacheOwner: cacheOwner(application),
      };
    case "upload":
      return { type: "upload", resourceUuid: application.uuid, commit: deployment.commit };
    case "dockerfile":
    case "image":
      return { type: "none" };
  }
}

const cacheOwner = ({ team_id, private_key_id, github_app }: SourceOwner): string =>
  [
    `team ${team_id}`,
    ...(private_key_id === null ? [] : [`key ${private_key_id}`]),
    ...(github_app === null ? [] : [`app ${github_app.id} repository ${github_app.repository_id}`]),
  ].join(", ");

const wantedCommit = ({ git_branch, git_commit_sha }: ApplicationSettings, { commit }: DeployedSource) => ({
  branch: git_branch,
  commit: commit === "HEAD" ? git_commit_sha : commit,
});

function pullRequestHead(application: SourceOwner, { commit, pull_request_id, git_type }: DeployedSource) {
  const branch = pullRequestRef(git_type, repositoryUrl(application), pull_request_id);
  if (branch !== undefined || commit !== "HEAD") return { branch: branch ?? application.settings.git_branch, commit };
  const message = `The repository's host has no ref for the newest commit of pull request ${pull_request_id}. Push to the pull request, so that its webhook reports the commit.`;
  throw new DomainError("source.not_found", message);
}

export function buildRequest(subject: ApplicationInput, sourceFolder: string): BuildRequest {
  const { application, deployment } = subject;
  const { profiles, isForced, isPulled, buildArgs } = composeCommand("build", application.settings);
  const up = composeCommand("start", application.settings);
  const { files, envFiles } = commandFiles([composeCommand("build", application.settings), up]);
  return {
    resourceUuid: application.uuid,
    deploymentUuid: deployment.uuid,
    resourceNumber: application.id,
    sourceFolder,
    config: {
      ...buildConfig(application.settings, subject.secrets, deployment.docker_registry_image_tag),
      ...(files.length <= 1 ? {} : { composeFiles: files }),
      ...(envFiles.length === 0 ? {} : { composeEnvFiles: envFiles }),
    },
    env: withProfiles(buildtimeEnv(subject), [...profiles, ...up.profiles]),
    isForced: deployment.force_rebuild || isForced,
    ...(application.settings.build_pack === "dockercompose" ? { variables: runtimeEnv(subject) } : {}),
    ...(isPulled ? { isPulled } : {}),
    ...(Object.keys(buildArgs).length === 0 ? {} : { buildArgs }),
  };
}

/** An invalid command that was stored before commands were validated is ignored. */
function composeCommand(step: "build" | "start", settings: ApplicationSettings): ComposeCommand {
  if (settings.build_pack !== "dockercompose") return NO_COMMAND;
  const { docker_compose_custom_build_command: build, docker_compose_custom_start_command: start } = settings;
  const location = settings.docker_compose_location ?? "";
  const read = readComposeCommand(step, step === "build" ? build : start, location);
  return "problem" in read ? NO_COMMAND : read;
}

export function releaseSpec(subject: ApplicationInput, artifact: Artifact): ReleaseSpec {
  const { application, deployment } = subject;
  const env = runtimeEnv(subject);
  return {
    resourceUuid: application.uuid,
    deploymentUuid: deployment.uuid,
    resourceNumber: application.id,
    kind: application.kind,
    name: application.name,
    artifact,
    env,
    ports: portsOf(application.settings.ports_exposes, subject.domains.length > 0, imagePorts(artifact)),
    storages: mountsOf(application.uuid, subject.storages, deployment.pull_request_id),
    limits: limitsOf(application.settings),
    network: application.placement.destination_network,
    replicas: replicasWanted(application.settings, deployment.pull_request_id),
    placement: placementOf(application.settings),
    containerName: lastingContainerName(application, deployment.pull_request_id),
    container: containerOptions(application.settings, subject.secrets, env, deployment.pull_request_id),
    ...(artifact.type === "stack" ? { stack: applicationStack(subject, artifact, env) } : {}),
  };
}

/** The stack of an application with the build pack dockercompose. */
function applicationStack(subject: ApplicationInput, artifact: StackArtifact, env: ReleaseSpec["env"]): StackOptions {
  const { application, deployment, domains, storages } = subject;
  const { settings } = application;
  const compose = composeOf(artifact);
  const generated = Object.entries(artifact.variables ?? {}).filter(([key]) => isMade(key));
  const values = { ...Object.fromEntries(generated), ...urlValues(compose, domains), ...userRuntimeEnv(subject) };
  requireVariables(compose, { ...artifact.variables, ...env, ...values });
  const own = new Set(Object.keys(values));
  const { profiles, scale, isRecreated } = composeCommand("start", settings);
  const options = stackOptions({
    owner: application,
    compose,
    values,
    domains,
    storages,
    pullRequestId: deployment.pull_request_id,
    given: Object.fromEntries(Object.entries(env).filter(([key]) => !own.has(key))),
    isLabelEscaped: settings.is_container_label_escape_enabled,
    networks: settings.connect_to_docker_network ? [application.placement.destination_network] : [],
  });
  return {
    ...options,
    variables: withProfiles({ ...artifact.variables, ...options.variables }, profiles),
    ...(Object.keys(scale).length === 0 ? {} : { scale }),
    ...(isRecreated ? { isRecreated } : {}),
  };
}

export function buildConfig(
  settings: ApplicationSettings,
  secrets: Pick<ApplicationSecrets, "dockerfile">,
  imageTag: string | null,
): BuildConfig {
  return {
    build_pack: settings.build_pack,
    base_directory: settings.base_directory,
    publish_directory: settings.publish_directory,
    install_command: settings.install_command,
    build_command: settings.build_command,
    start_command: settings.start_command,
    is_static: settings.is_static,
    is_spa: settings.is_spa,
    dockerfile: secrets.dockerfile,
    dockerfile_location: settings.dockerfile_location,
    dockerfile_target_build: settings.dockerfile_target_build,
    static_image: settings.static_image,
    custom_nginx_configuration: settings.custom_nginx_configuration,
    ports_exposes: settings.ports_exposes,
    docker_compose_location: settings.docker_compose_location ?? undefined,
    ...imageOf(settings, imageTag),
  };
}

/** @param tag The deployment's tag, which replaces the configured one. */
function imageOf(settings: ApplicationSettings, tag: string | null) {
  const { docker_registry_image_name: name, docker_registry_image_tag } = settings;
  const read = name === null || tag === null ? undefined : readDockerImage(name.replace(/@sha256$/, ""), tag);
  if (read === undefined || "problems" in read) {
    return { docker_registry_image_name: name, docker_registry_image_tag };
  }
  return { docker_registry_image_name: read.image.name, docker_registry_image_tag: read.image.tag };
}

const imagePorts = (artifact: Artifact): readonly number[] => (artifact.type === "image" ? (artifact.ports ?? []) : []);

const WEB_PORT = 3000; // The default port of most web frameworks.
const WEB_PORTS = [WEB_PORT, 80, 8080];

/**
 * Without configured ports, an application with a URL listens on one port, and an application without a URL is a
 * worker.
 * @param ofImage Ports that the image exposes; the most likely one for web traffic is used.
 */
export function portsOf(exposed: string | null, hasUrl: boolean, ofImage: readonly number[] = []): readonly number[] {
  const named = (exposed ?? "").split(",").filter(Boolean).map(Number);
  if (named.length > 0 || !hasUrl) return named;
  return [WEB_PORTS.find((port) => ofImage.includes(port)) ?? ofImage[0] ?? WEB_PORT];
}

export function limitsOf(settings: Pick<ApplicationSettings, "limits_memory" | "limits_cpus">): ReleaseLimits {
  const cpus = Number(settings.limits_cpus);
  return {
    memoryBytes: memoryBytes(settings.limits_memory),
    cpus: Number.isFinite(cpus) && cpus > 0 ? cpus : null,
  };
}
