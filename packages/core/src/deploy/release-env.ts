import { lastingContainerName } from "../application/container-name.ts";
import { pullRequestRef } from "../application/preview.ts";
import { requireStartable } from "../env/env-size.ts";
import type { ApplicationRecord, DeploymentRecord, DomainClaim, EnvRecord, Placement } from "../ports/records.ts";
import { repositoryUrl } from "../source/hosted-repository.ts";

export interface EnvSubject {
  readonly application: Pick<ApplicationRecord, "uuid" | "name" | "github_app" | "settings"> & {
    readonly placement: PlacementNames;
  };
  readonly deployment: Pick<DeploymentRecord, "uuid" | "commit" | "pull_request_id" | "git_type">;
  readonly domains: readonly DomainClaim[];
  /** With shared references replaced. */
  readonly envs: readonly EnvRecord[];
}

type PlacementNames = Pick<Placement, "project_name" | "environment_name" | "server_ip">;
type EnvValues = Readonly<Record<string, string>>;

/** Variables of a release. Those of the user override those that every release gets. */
export function runtimeEnv(subject: EnvSubject): EnvValues {
  const { application, deployment } = subject;
  const names = withFamilyNames({ BERTH_CONTAINER_NAME: containerName(application.uuid, deployment.uuid) });
  const given = { ...names, ...givenEnv(subject), SOURCE_COMMIT: deployment.commit };
  return withUserValues(subject, given, ({ is_runtime }) => is_runtime);
}

/** Variables of a build. What differs in each deployment is left out: it would invalidate every cached layer. */
export function buildtimeEnv(subject: EnvSubject): EnvValues {
  return withUserValues(subject, givenEnv(subject), ({ is_buildtime }) => is_buildtime);
}

/** Unique to a release. Engines may use other names. */
export const containerName = (resourceUuid: string, deploymentUuid: string): string =>
  `${resourceUuid}-${deploymentUuid}`;

function givenEnv(subject: EnvSubject): EnvValues {
  const { application, deployment, domains } = subject;
  const lasting = lastingContainerName(application, deployment.pull_request_id);
  return withFamilyNames({
    BERTH_RESOURCE_UUID: application.uuid,
    ...(lasting === undefined ? {} : { BERTH_CONTAINER_NAME: lasting }),
    BERTH_APP_NAME: application.name,
    ...placeEnv(application.placement),
    ...addressEnv(domains),
    BERTH_BRANCH: branchOf(subject),
  });
}

/** Where it was created, and where it runs. */
export const placeEnv = ({ project_name, environment_name, server_ip }: PlacementNames): EnvValues => ({
  BERTH_PROJECT_NAME: project_name,
  BERTH_ENVIRONMENT_NAME: environment_name,
  BERTH_SERVER_IP: server_ip,
});

/** The public addresses. */
export const addressEnv = (domains: readonly DomainClaim[]): EnvValues => ({
  BERTH_FQDN: domains.map(({ host }) => host).join(","),
  BERTH_URL: domains.map(({ url, public_url }) => public_url ?? url).join(","),
});

/** Duplicates under the names that images and compose files for this API family read. */
export const withFamilyNames = (given: EnvValues): EnvValues => ({
  ...given,
  ...Object.fromEntries(
    Object.entries(given)
      .filter(([key]) => key.startsWith("BERTH_"))
      .map(([key, value]) => [key.replace("BERTH_", "COOLIFY_"), value]),
  ),
});

function branchOf({ application, deployment }: EnvSubject): string {
  const { git_branch } = application.settings;
  const { pull_request_id, git_type } = deployment;
  if (pull_request_id === 0) return git_branch;
  const ref = pullRequestRef(git_type, repositoryUrl(application), pull_request_id);
  return ref?.replace(/^refs\//, "") ?? git_branch;
}

function withUserValues(subject: EnvSubject, given: EnvValues, isWanted: (env: EnvRecord) => boolean): EnvValues {
  return { ...given, ...userValues(subject, isWanted) };
}

/** The user's variables of a release. */
export const userRuntimeEnv = (subject: EnvSubject): EnvValues => userValues(subject, ({ is_runtime }) => is_runtime);

function userValues(subject: EnvSubject, isWanted: (env: EnvRecord) => boolean): EnvValues {
  const isPreview = subject.deployment.pull_request_id !== 0;
  const wanted = subject.envs.filter((env) => env.is_preview === isPreview && isWanted(env));
  return valuesOf(wanted);
}

/**
 * Values are passed byte for byte; flags such as `is_literal` only change how they are shown.
 * @throws DomainError `deploy.start_failed` for a variable that is too long to start a program with
 */
export function valuesOf(envs: readonly Pick<EnvRecord, "key" | "value">[]): EnvValues {
  const values = Object.fromEntries(envs.map(({ key, value }) => [key, value ?? ""]));
  requireStartable(values);
  return values;
}
