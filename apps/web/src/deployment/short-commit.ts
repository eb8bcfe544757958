import type { Outputs } from "../api/client.ts";

export type ShownCommit = Pick<Outputs["deployments"]["get"], "commit" | "commit_message">;

/** Ids of git, and of uploads. A tag, which a deployment has until its source was fetched, is not shortened. */
const ID = /^[0-9a-f]{40,64}$/;
const SHORT_LENGTH = 8;

/** `undefined`: it is not deployed from a commit, or its source was not fetched yet. */
export function shortCommit({ commit }: Pick<ShownCommit, "commit">): string | undefined {
  if (commit === "HEAD") return undefined;
  return ID.test(commit) ? commit.slice(0, SHORT_LENGTH) : commit;
}
