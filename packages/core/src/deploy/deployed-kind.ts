import { ApplicationSettings } from "../application/application.ts";
import { type HealthCheck, healthCheckOf, STEADY_CHECK } from "../application/health-check.ts";
import { initScripts } from "../application/init-script.ts";
import { type Compose, parseCompose } from "../compose/parse.ts";
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
import { DATABASE_STOP_GRACE_SECONDS, databaseSpec } from "./database-release.ts";
import { registryImages } from "./registry-image.ts";
import type { ReleaseSpec } from "./release.ts";
import { portMappingsOf } from "./release-container.ts";
import { buildConfig, buildRequest, releaseSpec, sourceSpec } from "./release-spec.ts";
import { serviceSpec, serviceValues } from "./service-release.ts";
import { applicationSite, PLAIN_SITE, type SiteSubject } from "./site.ts";
import { stackAloneBecause } from "./stack-replacement.ts";
import type { DeployInput, DeploySubject, SubjectOf } from "./subject.ts";

type DeployedSource = Pick<DeploymentRecord, "commit" | "pull_request_id" | "git_type">;

/** How a kind of resource is deployed, where the kinds differ. */
export interface DeployedKind<Subject extends DeploySubject> {
  /** The source to fetch. @throws DomainError `source.not_found` */
  source(subject: Subject, deployment: DeployedSource, credentials: GitCredentials | undefined): SourceSpec;
  buildRequest(input: DeployInput<Subject>, sourceFolder: string): BuildRequest;
  releaseSpec(input: DeployInput<Subject>, artifact: Artifact): ReleaseSpec;
  healthCheck(subject: Subject): HealthCheck;
  /** Why only one of its releases may run at a time, as the end of a sentence; `undefined`: two may. */
  exclusiveReason(subject: Subject, capabilities: Pick<EngineCapabilities, "port_mappings">): string | undefined;
  /** `null`: the usual time. */
  stopGraceSeconds(subject: Subject): number | null;
  /** Run around the switch, in the release before and in the new one. */
  commands(subject: Subject): { readonly pre: DeploymentCommand | null; readonly post: DeploymentCommand | null };
  /** How many replaced builds stay on the server, to be rolled back to. */
  keptBuilds(subject: Subject): number;
  /** `undefined`: it has no site. */
  site(subject: Subject): Pick<SiteSubject, "owner" | "settings" | "secrets"> | undefined;
  /**
   * Its first run makes what it keeps, in a way that no later run does again: a crash in it is the end of it, and what
   * a failed one kept is removed.
   */
  isFirstRun(subject: Subject): boolean;
  /** Advice for a release that is not healthy in time; `undefined` names the port it should listen on. */
  readonly unhealthyAdvice: string | undefined;
  /** Times that what runs now has ended by itself. */
  restartCount(subject: Subject): number;
  /** Texts of its own that must not stand in a log. */
  secretTexts(subject: Subject): readonly (string | null)[];
  /** The image that it is made from or pushed as; empty: none of its own. */
  image(subject: Subject): string;
  /** The compose text that it has before anything is built; `null`: it has none. */
  composeText(subject: Subject): string | null;
  /** The application whose repository is read with credentials; `undefined`: nothing is fetched with any. */
  fetched(subject: Subject): ApplicationRecord | undefined;
  usesBuildServer(subject: Subject): boolean;
  /** Where the built image is pushed to. */
  pushedImages(subject: Subject, deployed: Parameters<typeof registryImages>[1]): readonly RegistryImage[];
  /** Times that it may end by itself before it is stopped; `undefined`: it is restarted without end. */
  restartCountMax(subject: Subject): number | undefined;
  /** Its containers as recorded; `undefined`: it has no record of any. */
  containers(subject: Subject): readonly ServiceContainerRecord[] | undefined;
  /** A deployment restarts what has not changed, too. */
  readonly isDeployedByRestart: boolean;
}

/** Where a kind has nothing of what applications or services alone have. */
const PLAIN = {
  fetched: () => undefined,
  usesBuildServer: () => false,
  pushedImages: () => [],
  restartCountMax: () => undefined,
  containers: () => undefined,
  isDeployedByRestart: false,
} as const satisfies Partial<DeployedKind<DeploySubject>>;

const isStack = ({ build_pack }: Pick<ApplicationSettings, "build_pack">): boolean => build_pack === "dockercompose";
const STACK_ALONE = "its containers share what they keep";

const NO_COMMANDS = { pre: null, post: null };

const application: DeployedKind<SubjectOf<"application">> = {
  ...PLAIN,
  fetched: ({ record }) => (record.source === "git" ? record : undefined),
  usesBuildServer: ({ record: { settings } }) => settings.use_build_server && settings.build_pack !== "dockerimage",
  pushedImages: ({ record }, deployed) => registryImages(record.settings, deployed),
  restartCountMax: ({ record }) => record.settings.max_restart_count,
  source: ({ record }, deployment, credentials) => sourceSpec(record, deployment, credentials),
  buildRequest: ({ subject, ...input }, folder) => buildRequest({ ...own(subject), ...input }, folder),
  releaseSpec: ({ subject, ...input }, artifact) => releaseSpec({ ...own(subject), ...input }, artifact),
  // Each of several containers has its own check, or none: a path of one says nothing of the others.
  healthCheck: ({ record: { settings } }) => (isStack(settings) ? STEADY_CHECK : healthCheckOf(settings)),
  exclusiveReason({ record: { settings } }, { port_mappings }) {
    if (isStack(settings)) return STACK_ALONE;
    const ports = port_mappings ? portMappingsOf(settings.ports_mappings).map(({ serverPort }) => serverPort) : [];
    return ports.length === 0 ? undefined : `only one can hold port ${ports.join(", ")} of the server`;
  },
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
  keptBuilds: () => 0,
  site: () => undefined,
  isFirstRun: ({ record, secrets }) => record.started_at === null && initScripts(secrets.init_scripts).length > 0,
  unhealthyAdvice: "If it only needs longer, as for a long first start, raise health_check_retries.",
  restartCount: ({ record }) => record.restart_count,
  secretTexts: ({ secrets }) => Object.values(secrets),
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
  exclusiveReason: ({ secrets }) => aloneOf(secrets),
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

/** A server's services are looked at every few seconds, and their texts are long. */
const alone = new WeakMap<ServiceSecrets, { readonly because: string | undefined }>();

function aloneOf(secrets: ServiceSecrets): string | undefined {
  const known = alone.get(secrets);
  if (known !== undefined) return known.because;
  const compose = parseCompose(secrets.docker_compose_raw);
  const because = "problems" in compose ? "its compose file cannot be read" : stackAloneBecause(compose);
  alone.set(secrets, { because });
  return because;
}

/** A text that cannot be read fails at its build, which says why. */
function readVariables({ docker_compose_raw }: ServiceSecrets): Pick<Compose, "variables"> {
  const compose = parseCompose(docker_compose_raw);
  return "problems" in compose ? { variables: [] } : compose;
}

const KINDS: { readonly [Kind in ResourceKind]: DeployedKind<SubjectOf<Kind>> } = { application, database, service };

/** How a subject is deployed. */
export const deployedKind = <Subject extends DeploySubject>({ kind }: Subject): DeployedKind<Subject> =>
  // The table has, for each kind, what takes subjects of that kind.
  KINDS[kind] as unknown as DeployedKind<Subject>;

function own({ record, secrets }: SubjectOf<"application">) {
  return { application: record, secrets };
}

/** Nothing is built: the image is taken as it is. */
const imageConfig = (image: string) =>
  buildConfig(
    ApplicationSettings.parse({ build_pack: "dockerimage", docker_registry_image_name: image }),
    { dockerfile: null },
    null,
  );
