import { readDefaults } from "../compose/default-values.ts";
import { type Compose, parseWrittenCompose } from "../compose/parse.ts";
import { DomainError } from "../errors.ts";
import type { DeploymentRecord, DomainClaim, EnvRecord } from "../ports/records.ts";
import type { ServiceRecord } from "../ports/service.ts";
import type { StorageRecord } from "../ports/storage.ts";
import type { ServiceSecrets } from "../service/service.ts";
import type { Artifact } from "./artifact.ts";
import type { ReleaseSpec } from "./release.ts";
import { addressEnv, placeEnv, valuesOf } from "./release-env.ts";
import { requireVariables } from "./required-variables.ts";
import { stackOptions } from "./stack-options.ts";

/** Input for a release of a service, read at one moment. */
export interface ServiceSubject {
  readonly service: ServiceRecord;
  readonly secrets: ServiceSecrets;
  readonly deployment: Pick<DeploymentRecord, "uuid">;
  /** With the container that receives each one's requests. */
  readonly domains: readonly DomainClaim[];
  /** With shared references replaced. */
  readonly envs: readonly EnvRecord[];
  readonly storages: readonly StorageRecord[];
}

/**
 * The release of a service: the compose file at the time of the deployment, with the current variables, storages and
 * networks.
 * @throws DomainError `deploy.start_failed` with the names of required variables that have no value
 */
export function serviceSpec(subject: ServiceSubject, artifact: Artifact): ReleaseSpec {
  const { service, deployment, domains, storages } = subject;
  const { uuid, name, settings, placement } = service;
  const compose = composeOf(artifact);
  const values = serviceValues(compose, subject);
  requireVariables(compose, values);
  return {
    resourceUuid: uuid,
    deploymentUuid: deployment.uuid,
    resourceNumber: service.id,
    kind: service.kind,
    name,
    artifact,
    env: {},
    ports: [],
    storages: [],
    limits: { memoryBytes: null, cpus: null },
    stack: stackOptions({
      owner: { uuid, name },
      compose,
      values,
      domains,
      storages,
      pullRequestId: 0,
      given: {
        BERTH_RESOURCE_UUID: uuid,
        BERTH_APP_NAME: name,
        ...placeEnv(placement),
        ...addressEnv(domains),
      },
      isLabelEscaped: settings.is_container_label_escape_enabled,
      networks: settings.connect_to_docker_network ? [placement.destination_network] : [],
    }),
  };
}

/**
 * Values are passed byte for byte; flags such as `is_literal` only change how they are shown. Defaults are expanded.
 */
export function serviceValues(
  { variables }: Pick<Compose, "variables">,
  { envs }: Pick<ServiceSubject, "envs">,
): Readonly<Record<string, string>> {
  const given = envs.filter(({ is_preview, is_runtime }) => !is_preview && is_runtime);
  return readDefaults(variables, valuesOf(given));
}

/** Names of the containers of a built stack; `undefined` for other artifacts. */
export function composeNames(artifact: Artifact): readonly string[] | undefined {
  const compose = artifact.type === "stack" ? parseWrittenCompose(artifact.compose) : undefined;
  return compose === undefined || "problems" in compose ? undefined : compose.containers.map(({ name }) => name);
}

/** @throws DomainError `deploy.start_failed` */
export function composeOf(artifact: Artifact): Compose {
  if (artifact.type !== "stack") throw new DomainError("internal.error", "The build is not a stack.");
  const compose = parseWrittenCompose(artifact.compose);
  if (!("problems" in compose)) return compose;
  const sentence = `The compose file cannot be started: ${compose.problems.join(" ")}`;
  throw new DomainError("deploy.start_failed", sentence);
}
