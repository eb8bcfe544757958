import { invalid, isDomainError } from "@berth/core";
import {
  type ApplicationCreate,
  type ApplicationCreateDeployKey,
  type ApplicationCreateDockerfile,
  type ApplicationCreateGithubApp,
  type ApplicationCreateImage,
  type ApplicationCreatePublic,
  type ApplicationCreateUpload,
  ApplicationSecrets,
  ApplicationSettings,
  type ApplicationSource,
  applicationChange,
  type BuildPack,
  basicAuthProblems,
  buildsImage,
  type CreatedApplication,
  generatedName,
  generatedUrls,
  parseUrlList,
  replicasMost,
} from "@berth/core/application";
import type { DomainClaim, GithubSource } from "@berth/core/ports";
import { requireWrite } from "@berth/core/team";
import {
  requireBuildPack,
  requireContainerPowers,
  requireKeyForRepository,
  requirePlacement,
  requireReachableSource,
  requireReplicas,
  requireRequestCounts,
} from "./application-support.ts";
import type { UseCaseContext } from "./context.ts";
import { applicationRequest, requestDeployment } from "./deployment-request.ts";
import { claimDomains, requestedDomains, requireFreeDomains, requireServable } from "./domain.ts";
import { type GithubRepository, githubRepository } from "./github-repository.ts";
import { type ResolvedPlacement, resolvePlace } from "./placement.ts";
import { findPrivateKey } from "./private-key.ts";

/** One creation for each source, with the same steps. */
export function createApplication(context: UseCaseContext) {
  return {
    createPublic: (sent: ApplicationCreatePublic) => create(context, "git", sent, sent.build_pack),
    createUpload: (sent: ApplicationCreateUpload) => create(context, "upload", sent, sent.build_pack ?? "nixpacks"),
    createDeployKey: (sent: ApplicationCreateDeployKey) => create(context, "git", sent, sent.build_pack),
    createDockerfile: (sent: ApplicationCreateDockerfile) => create(context, "dockerfile", sent, "dockerfile"),
    createGithubApp: (sent: ApplicationCreateGithubApp) => createGithubApp(context, sent),
    createImage: (sent: ApplicationCreateImage) => create(context, "image", sent, "dockerimage"),
  };
}

const DEFAULT_SETTINGS = ApplicationSettings.parse({ build_pack: "nixpacks" });
const DEFAULT_SECRETS = ApplicationSecrets.parse({});

interface Draft {
  readonly uuid: string;
  readonly place: ResolvedPlacement;
  readonly name: string;
  readonly description: string | null;
  readonly source: ApplicationSource;
  readonly settings: ApplicationSettings;
  readonly secrets: ApplicationSecrets;
  readonly privateKeyId: number | null;
  readonly github_app?: Pick<GithubSource, "id" | "repository_id">;
  readonly isInstant: boolean;
}

/**
 * Creates an application, its URLs and, with `instant_deploy`, its first deployment: all or nothing.
 *
 * @throws DomainError `request.invalid`, `engine.unsupported`, `domain.conflict`, `queue.full`; `source.*` where the
 *   repository is asked for its default branch
 */
async function create(
  context: UseCaseContext,
  source: ApplicationSource,
  sent: ApplicationCreate,
  buildPack: BuildPack,
  repository?: GithubRepository,
): Promise<CreatedApplication> {
  const { scope, stores } = context;
  requireWrite(scope, sent);
  const claims = requestedDomains(sent, buildPack === "dockercompose") ?? [];
  const place = await resolvePlace(stores, sent, { needsContainers: buildsImage(buildPack) });
  const key = sent.private_key_uuid ? await findPrivateKey(stores, sent.private_key_uuid) : undefined;
  const local = { ...drafted(context, source, sent, buildPack, place), privateKeyId: key?.id ?? null };
  requireReachableSource(scope, local.settings.git_repository, place.server.ip);
  await requireBuildPack(context, buildPack, source, place.server);
  await requireReplicas(context, replicasMost(local.settings), place.server);
  await requirePlacement(context, local.settings, place.server);
  requireRequestCounts(local.settings, place.server);
  await requireContainerPowers(context, local.settings.custom_docker_run_options, place.server);
  const draft =
    repository === undefined
      ? await withNamedBranch(context, local, sent)
      : withRepository(local, await repository.verify());
  if (claims.length > 0) {
    requireServable(context, claims, place.server);
    const wanted = { claims, isForced: sent.force_domain_override ?? false };
    await requireFreeDomains(context, stores, wanted);
    return insert(context, draft, wanted);
  }
  const isGenerated = (sent.autogenerate_domain ?? true) && buildPack !== "dockercompose";
  if (!isGenerated) return insert(context, draft, { claims: [], isForced: false });
  return insertWithGeneratedUrl(context, draft);
}

/** @throws DomainError `git_host.refused`, `git_host.not_found`, `git_host.failed`, `rate.limited` */
async function createGithubApp(context: UseCaseContext, sent: ApplicationCreateGithubApp): Promise<CreatedApplication> {
  requireWrite(context.scope, sent);
  const repository = await githubRepository(context, sent);
  return create(context, "git", { ...sent, git_repository: repository.url }, sent.build_pack, repository);
}

const withRepository = (
  draft: Draft,
  { github_app, settings }: Awaited<ReturnType<GithubRepository["verify"]>>,
): Draft => ({ ...draft, github_app, settings: { ...draft.settings, ...settings } });

/**
 * `HEAD` becomes the branch that it means now, so that people see a name and the application keeps it. A repository that
 * needs a credential is not asked: there `HEAD` stays, and follows the default branch.
 */
async function withNamedBranch(
  { source }: Pick<UseCaseContext, "source">,
  draft: Draft,
  { name }: Pick<ApplicationCreate, "name">,
): Promise<Draft> {
  const { settings, privateKeyId } = draft;
  if (settings.git_branch !== "HEAD" || privateKeyId !== null) return draft;
  // The fetcher has a limit of its own.
  const git_branch = await source.defaultBranch(settings.git_repository, new AbortController().signal);
  const named = { ...settings, git_branch };
  return { ...draft, settings: named, name: name ?? generatedName(draft.source, { uuid: draft.uuid, ...named }) };
}

function drafted(
  { ids }: UseCaseContext,
  source: ApplicationSource,
  sent: ApplicationCreate,
  buildPack: BuildPack,
  place: ResolvedPlacement,
): Omit<Draft, "privateKeyId"> {
  const change = applicationChange({ ...sent, build_pack: buildPack });
  const settings: ApplicationSettings = {
    ...DEFAULT_SETTINGS,
    ...sourceDefaults(source),
    // Chosen to have none: otherwise its first deployment generates those that the compose file asks for.
    ...(buildPack === "dockercompose" && sent.autogenerate_domain === false ? { docker_compose_domains: [] } : {}),
    ...change.settings,
  };
  const secrets: ApplicationSecrets = { ...DEFAULT_SECRETS, ...change.secrets };
  const problems = { ...change.problems, ...basicAuthProblems(settings, secrets) };
  if (Object.keys(problems).length > 0) throw invalid(problems);
  const uuid = ids.uuid();
  return {
    uuid,
    place,
    name: sent.name ?? generatedName(source, { uuid, ...settings }),
    description: sent.description ?? null,
    source,
    // The commit of an upload comes from its content, never from the request.
    settings: source === "upload" ? { ...settings, git_commit_sha: "HEAD" } : settings,
    secrets,
    isInstant: sent.instant_deploy ?? false,
  };
}

/** The build of a single Dockerfile does not know its port, so the default of the API family is used. */
const sourceDefaults = (source: ApplicationSource): Partial<ApplicationSettings> =>
  source === "dockerfile" ? { ports_exposes: "80" } : {};

/** Claims the first free URL; if another request claims it first, the next one. */
async function insertWithGeneratedUrl(context: UseCaseContext, draft: Draft): Promise<CreatedApplication> {
  const { server } = draft.place;
  const urls = generatedUrls(server, draft);
  const servable = context.servesHttps(server) ? urls : urls.map((url) => url.replace(/^https:/, "http:"));
  const candidates = servable.map((url) => parseUrlList(url).claims);
  for (const claims of candidates) {
    const made = await insertIfFree(context, draft, claims);
    if (made !== undefined) return made;
  }
  // The last URL contains the uuid, so it can only be taken on purpose.
  return insert(context, draft, { claims: [], isForced: false });
}

async function insertIfFree(context: UseCaseContext, draft: Draft, claims: readonly DomainClaim[]) {
  const wanted = { claims, isForced: false };
  try {
    await requireFreeDomains(context, context.stores, wanted);
    return await insert(context, draft, wanted);
  } catch (taken) {
    if (isDomainError(taken, "domain.conflict")) return undefined;
    throw taken;
  }
}

function insert(
  context: UseCaseContext,
  draft: Draft,
  wanted: { readonly claims: readonly DomainClaim[]; readonly isForced: boolean },
): Promise<CreatedApplication> {
  const { environment, server, destination } = draft.place;
  const { uuid, name, description, source, github_app, settings, secrets, privateKeyId } = draft;
  return context.stores.transaction(async (tx) => {
    const application = await tx.applications.insert({
      uuid,
      environment_id: environment.id,
      server_id: server.id,
      destination_id: destination.id,
      name,
      description,
      source,
      github_app,
      private_key_id: privateKeyId,
      settings,
      secrets,
    });
    await requireKeyForRepository(tx, application);
    const overridden = await claimDomains(context, tx, application.id, wanted);
    const requested = draft.isInstant
      ? await requestDeployment(context, tx, applicationRequest(application, { isInstant: true }))
      : undefined;
    return {
      uuid,
      fqdn: wanted.claims.map(({ url }) => url).join(",") || null,
      ...(requested ? { deployment_uuid: requested.deployment.uuid } : {}),
      ...(overridden.length > 0 ? { overridden } : {}),
    };
  });
}
