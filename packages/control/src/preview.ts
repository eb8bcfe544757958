import { DomainError, isDomainError, notFound } from "@berth/core";
import { type ApplicationPreview, previewClaim, previewView } from "@berth/core/application";
import type {
  ApplicationRecord,
  DomainClaim,
  JobRecord,
  Page,
  Paging,
  PreviewFields,
  PreviewRecord,
  PushedApplication,
  Stores,
} from "@berth/core/ports";
import type { JobStarted } from "@berth/core/server";
import { requireAbility, type Scope } from "@berth/core/team";
import { findApplication } from "./application.ts";
import type { UseCaseContext } from "./context.ts";
import { claimDomains, requireFreeDomains } from "./domain.ts";
import { requestJob } from "./job.ts";
import { mapPage } from "./page.ts";
import { cancelDeployments } from "./removal.ts";

/** Previews of an application's pull requests. A deployment creates them. */
export function previews(context: UseCaseContext) {
  const { scope, stores, publicUrl } = context;
  return {
    async list(uuid: string, paging: Paging): Promise<Page<ApplicationPreview>> {
      requireAbility(scope, "read");
      const { id, server_id } = await findApplication(stores, uuid);
      const page = await stores.previews.list(id, paging);
      return mapPage(page, (preview) => previewView(preview, (url) => publicUrl(url, server_id)));
    },

    /** Marks the preview; the worker removes it within seconds. Idempotent. */
    async delete(uuid: string, pullRequestId: number): Promise<JobStarted> {
      requireAbility(scope, "write");
      const job = await stores.transaction(async (tx) => {
        const application = await findApplication(tx, uuid);
        const preview = await tx.previews.find(application.id, pullRequestId);
        if (preview === undefined) throw notFound("Preview");
        const begun = await closePreview(context, tx, application, pullRequestId);
        return begun ?? (await requestJob(context, tx, "preview.delete", subjectOf(application, preview)));
      });
      return { message: "Preview deletion request queued.", job_uuid: job.uuid };
    },
  };
}

export interface PreviewContext extends Pick<UseCaseContext, "ids" | "instanceUrl" | "publicUrl"> {
  readonly scope: Pick<Scope, "teamId">;
}

/**
 * The preview of a pull request with what is said of it, made with its URL when there was none. Must run in the
 * transaction that asks for its deployment, which waits in the queue while one of this number is being removed. When it
 * is refused, nothing has been written.
 *
 * @throws DomainError `domain.conflict`
 */
export async function openPreview(
  context: PreviewContext,
  tx: Stores,
  application: PushedApplication,
  fields: PreviewFields,
): Promise<PreviewRecord> {
  const { pull_request_id } = fields;
  const before = await tx.previews.find(application.id, pull_request_id);
  // A preview keeps its URL, even if the application's changes.
  const claim = before?.fqdn ? undefined : claimFor(context, application, pull_request_id);
  const wanted = {
    claims: claim === undefined ? [] : [claim],
    isForced: false,
    resourceId: application.id,
    pullRequestId: pull_request_id,
  };
  await naming(claim, requireFreeDomains(context, tx, wanted));
  const preview = await tx.previews.open(application.id, context.ids.uuid(), fields);
  // Another request for it may have been faster.
  if (claim === undefined || preview.fqdn !== null) return preview;
  await naming(claim, claimDomains(context, tx, application.id, wanted));
  return { ...preview, fqdn: claim.url };
}

function claimFor({ ids }: PreviewContext, { settings, fqdn }: PushedApplication, pullRequestId: number) {
  const random = ids.uuid().slice(0, RANDOM_LENGTH);
  return previewClaim({ template: settings.preview_url_template, fqdn, pullRequestId, random });
}

/** Long enough that nobody can guess it. */
const RANDOM_LENGTH = 12;

/** Names the URL in a conflict, since the request did not contain it. */
async function naming(claim: DomainClaim | undefined, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (claim === undefined || !isDomainError(error, "domain.conflict")) throw error;
    const message = `The URL of the preview, ${claim.url}, is taken. Change preview_url_template of the application, or free the URL.`;
    throw new DomainError("domain.conflict", message, { details: error.details ?? {}, cause: error });
  }
}

/**
 * Ends the deployments of a pull request and requests the removal of its preview. `undefined` if there is nothing to
 * remove.
 */
export async function closePreview(
  context: Pick<UseCaseContext, "ids">,
  tx: Stores,
  application: Pick<ApplicationRecord, "id" | "name">,
  pullRequestId: number,
): Promise<JobRecord | undefined> {
  const { id } = application;
  const preview = await tx.previews.markRemoving(id, pullRequestId);
  if (preview === undefined) return undefined;
  await cancelDeployments(tx, (each) => each.resource_id === id && each.pull_request_id === pullRequestId);
  return requestJob(context, tx, "preview.delete", subjectOf(application, preview));
}

const subjectOf = ({ name }: Pick<ApplicationRecord, "name">, { id, uuid, pull_request_id }: PreviewRecord) =>
  ({ type: "preview", id, uuid, name: `${name}, pull request ${pull_request_id}` }) as const;
