import { DomainError, invalid, notFound } from "@berth/core";
import {
  type Application,
  type ApplicationCreateCompose,
  type ApplicationUpdate,
  applicationChange,
  basicAuthProblems,
  type ChangedApplication,
  resetsOf,
  settingView,
} from "@berth/core/application";
import type { ApplicationRecord, Page, Paging, Stores } from "@berth/core/ports";
import { requireAbility, requireWrite } from "@berth/core/team";
import { applicationViews } from "./application-answer.ts";
import { createCompose } from "./application-compose.ts";
import { createApplication } from "./application-create.ts";
import { changedDomains } from "./application-domain.ts";
import { requireOnEachServer } from "./application-server.ts";
import { requireKeyForRepository } from "./application-support.ts";
import type { UseCaseContext } from "./context.ts";
import { applicationRequest, DUPLICATE_MESSAGE, requestDeployment } from "./deployment-request.ts";
import { claimDomains, requireFreeDomains } from "./domain.ts";
import { emitResourceEvent } from "./event.ts";
import { changedRepository } from "./github-repository.ts";
import { findPrivateKey } from "./private-key.ts";

/** @throws DomainError `resource.not_found` */
export async function findApplication(stores: Stores, uuid: string): Promise<ApplicationRecord> {
  const application = await stores.applications.find(uuid);
  if (application === undefined) throw notFound("Application");
  return application;
}

export function applications(context: UseCaseContext) {
  const { scope, stores, source } = context;
  return {
    async list({ tag, ...paging }: Paging & { readonly tag?: string | undefined }): Promise<Page<Application>> {
      requireAbility(scope, "read");
      const page = await stores.applications.list({ tag }, paging);
      return { items: await applicationViews(context, page.items), total: page.total };
    },

    async get(uuid: string): Promise<Application> {
      requireAbility(scope, "read");
      const application = await findApplication(stores, uuid);
      const [view] = await applicationViews(context, [application]);
      if (view === undefined) throw notFound("Application");
      return { ...view, settings: settingView(application.settings) };
    },

    ...createApplication(context),

    /** @throws DomainError `request.invalid`, `domain.conflict`, `engine.unsupported` */
    createCompose: (sent: ApplicationCreateCompose) => createCompose(context, sent),

    update: (uuid: string, sent: ApplicationUpdate) => update(context, uuid, sent),

    /**
     * Stores an archive for the next deployment to build.
     * @throws DomainError `resource.state` if the application's source is not an upload, `source.invalid`,
     * `request.too_large`
     */
    async uploadSource(uuid: string, archive: AsyncIterable<Uint8Array>): Promise<{ commit: string; size: number }> {
      requireAbility(scope, "write");
      requireUploads(await findApplication(stores, uuid));
      const { commit, sizeBytes } = await source.saveUpload(uuid, archive);
      await stores.transaction(async (tx) => {
        const application = await findApplication(tx, uuid);
        await tx.applications.update(application.id, { settings: { git_commit_sha: commit } });
        await emitResourceEvent(tx, application, "resource.source_uploaded", { commit });
      });
      return { commit, size: sizeBytes };
    },
  };
}

function requireUploads(application: ApplicationRecord): void {
  if (application.source === "upload") return;
  const message = `Application ${application.name} gets its code from ${application.source}. Create one for uploads: POST /api/v1/applications/upload.`;
  throw new DomainError("resource.state", message);
}

async function update(context: UseCaseContext, uuid: string, asked: ApplicationUpdate): Promise<ChangedApplication> {
  const { scope, stores } = context;
  requireWrite(scope, asked);
  const current = await findApplication(stores, uuid);
  const { sent, claims, message } = await changedDomains(context, current, asked);
  const change = await checkedChange(context, current, sent);
  const wanted = { claims: claims ?? [], isForced: sent.force_domain_override ?? false, resourceId: current.id };
  const hasDomains = claims !== undefined;
  if (hasDomains) await requireFreeDomains(context, stores, wanted);
  return stores.transaction(async (tx) => {
    const application = await tx.applications.update(current.id, change);
    if (application === undefined) throw notFound("Application");
    if (sent.git_repository != null || sent.private_key_uuid) await requireKeyForRepository(tx, application);
    const overridden = hasDomains ? await claimDomains(context, tx, current.id, wanted) : [];
    await emitResourceEvent(tx, application, "resource.updated", { fields: Object.keys(sent).sort() });
    return {
      uuid,
      ...(message === undefined ? {} : { message }),
      ...(sent.instant_deploy ? await deployedAnswer(context, tx, application) : {}),
      ...(overridden.length > 0 ? { overridden } : {}),
    };
  });
}

async function checkedChange(context: UseCaseContext, current: ApplicationRecord, sent: ApplicationUpdate) {
  const { stores } = context;
  const repository = await changedRepository(context, current, sent.git_repository);
  const plain = repository === undefined ? sent : { ...sent, git_repository: repository.url };
  const { settings, secrets, problems } = applicationChange(plain, current.settings);
  const next = { ...current.settings, ...settings };
  const authProblems = settings.is_http_basic_auth_enabled
    ? basicAuthProblems(next, { ...(await stores.applications.secrets(current.id)), ...secrets })
    : {};
  const all = { ...problems, ...authProblems };
  if (Object.keys(all).length > 0) throw invalid(all);
  await requireOnEachServer(context, current, next);
  const verified = await repository?.verify();
  const resets = resetsOf(current.settings.build_pack, next.build_pack);
  return {
    ...(verified === undefined ? {} : { github_repository_id: verified.github_app.repository_id }),
    ...(await changedKey(stores, sent.private_key_uuid)),
    name: sent.name ?? undefined,
    description: sent.description,
    settings: { ...resets.settings, ...settings, ...verified?.settings },
    secrets: { ...resets.secrets, ...secrets },
  };
}

/** @throws DomainError `resource.not_found` */
async function changedKey(stores: Stores, uuid: string | null | undefined) {
  if (uuid === undefined) return {};
  return { private_key_id: uuid === null ? null : (await findPrivateKey(stores, uuid)).id };
}

async function deployedAnswer(context: UseCaseContext, tx: Stores, application: ApplicationRecord) {
  const { deployment, isDuplicate } = await requestDeployment(context, tx, applicationRequest(application));
  return { deployment_uuid: deployment.uuid, ...(isDuplicate ? { message: DUPLICATE_MESSAGE } : {}) };
}
