import type { ApplicationRecord, Ids, PullRequestChange, Stores, WebhookProvider } from "@berth/core";

/** Inside the transaction that queues its deployment. Answers what stands in the way. */
export async function openPullRequest(
  { team, ids }: { readonly team: Stores; readonly ids: Ids },
  provider: WebhookProvider,
  { id }: ApplicationRecord,
  { number, url }: PullRequestChange,
): Promise<string | undefined> {
  const preview = await team.previews.open(id, ids.uuid(), {
    pull_request_id: number,
    git_type: provider,
    ...(url === null ? {} : { pull_request_html_url: url }),
  });
  return preview === undefined ? "The preview is being removed. Deploy again in a moment." : undefined;
}

/** Cancels what is still to be deployed of it, and asks for the removal of its preview. */
export async function closePullRequest(
  team: Stores,
  { id }: ApplicationRecord,
  { number }: PullRequestChange,
): Promise<string> {
  for (const { uuid, resource_id, pull_request_id } of (await team.deployments.listActive()).items) {
    if (resource_id === id && pull_request_id === number) await team.deployments.requestCancel(uuid);
  }
  const isClosed = await team.previews.markRemoving(id, number);
  return isClosed ? "Preview deployment closed." : "There is no preview deployment to close.";
}

/** Whether a change that may be of no code, such as a new title, has nothing to deploy. */
export async function isDeployed(
  team: Stores,
  { id }: ApplicationRecord,
  { action, number, commit }: PullRequestChange,
): Promise<boolean> {
  if (action !== "update") return false;
  const { items } = await team.deployments.listByResource(id, { pull_request_id: number }, { take: 1 });
  const [newest] = items;
  // Of a commit that is told in short the deployment knows the whole.
  return newest?.status === "finished" && newest.commit.startsWith(commit);
}
