import { ApplicationSettings } from "../application/application.ts";
import { type HealthCheck, healthCheckOf, STEADY_CHECK } from "../application/health-check.ts";
import { initScripts } from "../application/init-script.ts";
import { replicasWanted } from "../application/replicas.ts";
import { type Compose, parseCompose } from "../compose/parse.ts";
import { databaseEngine } from "../database/database-engine.ts";
import { type DatabaseLogin, liveLogin, passwordsOf } from "../database/database-login.ts";
import type { EngineRow } from "../database/engine/row.ts";
import { secretsInText } from "../env/secret-value.ts";
import type { EngineCapabilities } from "../ports/engine.ts";
import type { RegistryImage } from "../ports/engine-images.ts";
import type { ApplicationRecord, DeploymentRecord } from "../ports/records.ts";
import type { ServiceContainerRecord } from "../ports/service.ts";
import type { GitCredentials, SourceSpec } from "../ports/source.ts";
import type { ResourceKind } from "../resource/resource.ts";
import type { ServiceSecrets } from "../service/service.ts";
import type { Artifact, BuildRequest } from "./artifact.ts";
import { type DeploymentCommand, deploymentCommand } from "./command.ts";
import { DATABASE_STOP_GRACE_SECONDS, databaseLogin, databaseSpec } from "./database-release.ts";
import { registryImages } from "./registry-image.ts";
import type { ReleaseSpec, Upstream } from "./release.ts";
import { portMappingsOf } from "./release-container.ts";
import { buildConfig, buildRequest, portsOf, releaseSpec, sourceSpec } from "./release-spec.ts";
import { serviceSpec, serviceValues } from "./service-release.ts";
import { applicationSite, PLAIN_SITE, type SiteSubject } from "./site.ts";
import { exclusiveStackReason } from "./stack-replacement.ts";
import type { DeployInput, DeploySubject, SubjectOf } from "./subject.ts";
import { unmappedPorts } from "./unmapped-ports.ts";

interface Logins {
  /** `undefined`: it was never started. */
  readonly live: DatabaseLogin | undefined;
  readonly next: DatabaseLogin;
}

type DeployedSource = Pick<DeploymentRecord, "commit" | "pull_request_id" | "git_type">;

/** What differs between kinds of resources when they are deployed. */
export interface DeployedKind<Subject extends DeploySubject> {
  /** The source to fetch. @throws DomainError `source.not_found` */
  source(subject: Subject, deployment: DeployedSource, credentials: GitCredentials | undefined): SourceSpec;
  buildRequest(input: DeployInput<Subject>, sourceFolder: string): BuildRequest;
  releaseSpec(input: DeployInput<Subject>, artifact: Artifact): ReleaseSpec;
  healthCheck(subject: Subject): HealthCheck;
  /**
   * Why only one of its releases may run at a time, as the end of a sentence; `undefined`: two may run.
   * @param upstream Of the live release.
   */
  exclusiveReason(
    subject: Subject,
    capabilities: Pick<EngineCapabilities, "networks" | "port_mappings">,
    upstream: Upstream | null,
  ): string | undefined;
  /** Why an engine cannot run it at all, and what helps; `undefined`: it can. */
  refusal(
    subject: Subject,
    capabilities: Pick<EngineCapabilities, "networks" | "port_mappings">,
    server: { readonly name: string },
  ): string | undefined;
  /** Number of containers of a release of the resource itself; `undefined`: the engine or a compose file decides. */
  replicas(subject: Subject): number | undefined;
  /** `null`: the default. */
  stopGraceSeconds(subject: Subject): number | null;
  /** Commands around the switch: one in the previous release, one in the new release. */
  commands(subject: Subject): { readonly pre: DeploymentCommand | null; readonly post: DeploymentCommand | null };
  /** Gives a running database the passwords of its next release; `undefined`: there is nothing to change. */
  changePasswords(
    subject: Subject,
    next: ReleaseSpec,
  ): ReturnType<NonNullable<EngineRow["changePasswords"]>> | undefined;
  /** Names and passwords of a database: those that it has, and those that its next release is started with. */
  logins(input: Pick<DeployInput<Subject>, "subject" | "envs">): Logins | undefined;
  /** Number of replaced builds that stay on the server for rollbacks. */
  keptBuilds(subject: Subject): number;
  /** `undefined`: it has no site. */
  site(subject: Subject): Pick<SiteSubject, "owner" | "settings" | "secrets"> | undefined;
  /**
   * Whether this run initialises the stored data. Later runs do not repeat that, so a crash in it is final, and the
   * data of a failed one are removed.
   */
  isFirstRun(subject: Subject): boolean;
  /**
   * Advice when a release does not become healthy in time; `undefined`: the message names the port it should listen
   * on.
   */
  readonly unhealthyAdvice: string | undefined;
  /** How often the running release has exited by itself. */
  restartCount(subject: Subject): number;
  /** Secrets of the resource, which must not appear in logs. */
  secretTexts(subject: Subject): readonly (string | null)[];
  /** The image that it runs or pushes; empty: none. */
  image(subject: Subject): string;
  /** The compose file known before the build; `null`: none. */
  composeText(subject: Subject): string | null;
  /** The application whose repository needs credentials; `undefined`: nothing needs any. */
  fetched(subject: Subject): ApplicationRecord | undefined;
  usesBuildServer(subject: Subject): boolean;
  /** Registry images that the build is pushed to. */
  pushedImages(subject: Subject, deployed: Parameters<typeof registryImages>[1]): readonly RegistryImage[];
  /** How often it may exit before it is stopped; `undefined`: it is always restarted. */
  restartCountMax(subject: Subject): number | undefined;
  /** Whether the last attempt to scale it failed. */
  hasScaleProblem(subject: Subject): boolean;
  /** Its recorded containers; `undefined`: none are recorded for this kind. */
  containers(subject: Subject): readonly ServiceContainerRecord[] | undefined;
  /** Whether a deployment also restarts unchanged containers. */
  readonly isDeployedByRestart: boolean;
}

/** Defaults of kinds that lack features of applications and services. */
const PLAIN = {
  fetched: () => undefined,
  refusal: () => undefined,
  usesBuildServer: () => false,
  pushedImages: () => [],
  restartCountMax: () => undefined,
  replicas: () => undefined,
  hasScaleProblem: () => false,
  containers: () => undefined,
  changePasswords: () => undefined,
  logins: () => undefined,
  isDeployedByRestart: false,
} as const satisfies Partial<DeployedKind<DeploySubject>>;

const isStack = ({ build_pack }: Pick<ApplicationSettings, "build_pack">): boolean => build_pack === "dockercompose";
const STACK_ALONE = "its containers share persistent data";

const NO_COMMANDS = { pre: null, post: null };

const application: DeployedKind<SubjectOf<"application">> = {
  ...PLAIN,
  fetched: ({ record }) => (record.source === "git" ? record : undefined),
  usesBuildServer: ({ record: { settings } }) => settings.use_build_server && settings.build_pack !== "dockerimage",
  pushedImages: ({ record }, deployed) => registryImages(record.settings, deployed),
  restartCountMax: ({ record }) => record.settings.max_restart_count,
  replicas: ({ record }) => replicasWanted(record.settings),
  hasScaleProblem: ({ record }) => record.scale_problem !== null,
  source: ({ record }, deployment, credentials) => sourceSpec(record, deployment, credentials),
  buildRequest: ({ subject, ...input }, folder) => buildRequest({ ...own(subject), ...input }, folder),
  releaseSpec: ({ subject, ...input }, artifact) => releaseSpec({ ...own(subject), ...input }, artifact),
  // Containers of a stack are checked separately: the path of one is no check of the others.
  healthCheck: ({ record: { settings } }) => (isStack(settings) ? STEADY_CHECK : healthCheckOf(settings)),
  exclusiveReason({ record: { settings } }, { networks, port_mappings }, upstream) {
    if (isStack(settings)) return STACK_ALONE;
    // Without networks of its own, an engine's releases share the ports of the machine.
    if (!networks && upstream !== null && portsOf(settings.ports_exposes, true).includes(upstream.port)) {
      return `only one can hold port ${upstream.port} of the server`;
    }
    const ports = port_mappings ? portMappingsOf(settings.ports_mappings).map(({ serverPort }) => serverPort) : [];
    return ports.length === 0 ? undefined : `only one can use port ${ports.join(", ")} of the server`;
  },
  refusal: ({ record: { settings } }, capabilities, { name }) => unmappedPorts(settings, capabilities, name),
  stopGraceSeconds: ({ record }) => record.settings.stop_grace_period,
  commands: ({ record: { settings } }) => ({
    pre: deploymentCommand(settings.pre_deployment_command, settings.pre_deployment_command_container),
    post: deploymentCommand(settings.post_deployment_command, settings.post_deployment_command_container),
  }),
  keptBuilds: ({ record }) => record.settings.docker_images_to_keep,
  site: (subject) => applicationSite(own(subject)),
  isFirstRun: () => false,
  unhealthyAdvice: undefined,
  restartCount: ({ record }) => record.restart_count,
  secretTexts: ({ secrets: { dockerfile, custom_labels, docker_compose_raw, ...secrets } }) => [
    ...Object.values(secrets),
    ...[dockerfile, custom_labels, docker_compose_raw].flatMap((text) => secretsInText(text ?? "")),
  ],
  image: ({ record }) => record.settings.docker_registry_image_name ?? "",
  composeText: () => null,
};

const database: DeployedKind<SubjectOf<"database">> = {
  ...PLAIN,
  source: () => ({ type: "none" }),
  buildRequest: ({ subject: { record }, deployment }, sourceFolder) => ({
    resourceUuid: record.uuid,
    deploymentUuid: deployment.uuid,
    resourceNumber: record.id,
    sourceFolder,
    config: imageConfig(record.settings.image),
    env: {},
    isForced: deployment.force_rebuild,
  }),
  releaseSpec: ({ subject: { record, secrets }, ...input }, artifact) =>
    databaseSpec({ database: record, secrets, ...input }, artifact),
  healthCheck: () => STEADY_CHECK,
  exclusiveReason: () => "two servers on the same data would destroy it",
  stopGraceSeconds: () => DATABASE_STOP_GRACE_SECONDS,
  commands: () => NO_COMMANDS,
  changePasswords: ({ record }, { env }) => databaseEngine(record.engine).changePasswords?.(env),
  logins: ({ subject: { record, secrets }, envs }) => ({
    live: liveLogin(secrets),
    next: databaseLogin({ database: record, secrets, envs }),
  }),
  keptBuilds: () => 0,
  site: () => undefined,
  isFirstRun: ({ record, secrets }) => record.started_at === null && initScripts(secrets.init_scripts).length > 0,
  unhealthyAdvice: "If it only needs more time, e.g. for its first start, raise health_check_retries.",
  restartCount: ({ record }) => record.restart_count,
  secretTexts: ({ record, secrets }) => [
    ...Object.values(secrets),
    ...passwordsOf(record.engine, liveLogin(secrets) ?? {}),
  ],
  image: ({ record }) => record.settings.image,
  composeText: () => null,
};

const service: DeployedKind<SubjectOf<"service">> = {
  ...PLAIN,
  containers: ({ containers }) => containers,
  isDeployedByRestart: true,
  source: () => ({ type: "none" }),
  buildRequest({ subject: { record, secrets }, deployment, ...input }, sourceFolder) {
    const values = serviceValues(readVariables(secrets), input);
    return {
      resourceUuid: record.uuid,
      deploymentUuid: deployment.uuid,
      resourceNumber: record.id,
      sourceFolder,
      config: buildConfig(ApplicationSettings.parse({ build_pack: "dockercompose" }), { dockerfile: null }, null),
      env: values,
      variables: values,
      isForced: deployment.force_rebuild,
      compose: secrets.docker_compose_raw,
    };
  },
  releaseSpec: ({ subject: { record, secrets }, ...input }, artifact) =>
    serviceSpec({ service: record, secrets, ...input }, artifact),
  healthCheck: () => STEADY_CHECK,
  exclusiveReason: ({ secrets }) => exclusiveReasonOf(secrets),
  stopGraceSeconds: () => null,
  commands: () => NO_COMMANDS,
  keptBuilds: () => 0,
  site: ({ record: { uuid, name } }) => ({ ...PLAIN_SITE, owner: { uuid, name } }),
  isFirstRun: () => false,
  unhealthyAdvice: undefined,
  restartCount: () => 0,
  secretTexts: () => [],
  image: () => "",
  composeText: ({ secrets }) => secrets.docker_compose_raw,
};

/** Cached, since snapshots read all services every few seconds, and compose files are long. */
const alone = new WeakMap<ServiceSecrets, { readonly because: string | undefined }>();

function exclusiveReasonOf(secrets: ServiceSecrets): string | undefined {
  const known = alone.get(secrets);
  if (known !== undefined) return known.because;
  const compose = parseCompose(secrets.docker_compose_raw);
  const because = "problems" in compose ? "its compose file cannot be read" : exclusiveStackReason(compose);
  alone.set(secrets, { because });
  return because;
}

/** The build reports a compose file that cannot be parsed. */
function readVariables({ docker_compose_raw }: ServiceSecrets): Pick<Compose, "variables"> {
  const compose = parseCompose(docker_compose_raw);
  return "problems" in compose ? { variables: [] } : compose;
}

const KINDS: { readonly [Kind in ResourceKind]: DeployedKind<SubjectOf<Kind>> } = { application, database, service };

/** How a subject is deployed. */
export const deployedKind = <Subject extends DeploySubject>({ kind }: Subject): DeployedKind<Subject> =>
  // Each kind's entry accepts subjects of that kind.
  KINDS[kind] as unknown as DeployedKind<Subject>;

function own({ record, secrets }: SubjectOf<"application">) {
  return { application: record, secrets };
}

/** Nothing is built: the image is used unchanged. */
const imageConfig = (image: string) =>
  buildConfig(
    ApplicationSettings.parse({ build_pack: "dockerimage", docker_registry_image_name: image }),
    { dockerfile: null },
    null,
  );
