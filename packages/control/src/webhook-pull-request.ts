import { isDomainError } from "@berth/core";
import type { PreviewRecord, PushedApplication, Stores } from "@berth/core/ports";
import type { PullRequestChange, WebhookProvider } from "@berth/core/webhook";
import { openPreview, type PreviewContext } from "./preview.ts";

/**
 * Must run in the transaction that queues its deployment. Returns the reason if the preview cannot be opened; nothing
 * is written then.
 */
export async function openPullRequest(
  { team, ...context }: PreviewContext & { readonly team: Stores },
  provider: WebhookProvider,
  application: PushedApplication,
  { number, url }: PullRequestChange,
): Promise<PreviewRecord | string> {
  try {
    return await openPreview(context, team, application, {
      pull_request_id: number,
      git_type: provider,
      ...(url === null ? {} : { pull_request_html_url: url }),
    });
  } catch (error) {
    if (isDomainError(error, "domain.conflict") || isDomainError(error, "resource.state")) return error.message;
    throw error;
  }
}

/** Whether a change that may have no new code, such as a new title, is already deployed. */
export async function isDeployed(
  team: Stores,
  { id }: PushedApplication,
  { action, number, commit }: PullRequestChange,
): Promise<boolean> {
  if (action !== "update") return false;
  const { items } = await team.deployments.listByResource(id, { pull_request_id: number }, { take: 1 });
  const [newest] = items;
  // The deployment has the full id of a commit that the host abbreviates.
  return newest?.status === "finished" && newest.commit.startsWith(commit);
}
