import { z } from "zod";
import { type PullRequestChange, type Push, type PushedRepository, requestsSkip, touchedFiles } from "./intent.ts";
import { branchOf, Commit, isGone, keysOf, Name, PullRequestNumber, Text, Url } from "./payload.ts";

/** Repository, push and pull request in the format of GitHub, which Gitea shares. */
const Repository = z.object({
  id: z.int().optional(),
  full_name: Name,
  clone_url: Url,
  default_branch: Name.nullish(),
});

export const GithubRepositoryEvent = z.object({ repository: Repository }).transform(
  ({ repository }): PushedRepository => ({
    id: repository.id ?? null,
    name: repository.full_name,
    keys: keysOf(repository.full_name, repository.clone_url),
    defaultBranch: repository.default_branch ?? null,
  }),
);

const COMMITS_MAX = 2048; // GitHub lists at most this many commits of a push.

const Files = z.array(z.string()).nullish();
const PushedCommit = z.object({ message: Text, added: Files, modified: Files, removed: Files });

export const GithubPush = z
  .object({
    ref: Text,
    after: Commit,
    deleted: z.boolean().nullish(),
    commits: z.array(PushedCommit).nullish(),
    /** Only Gitea: the number of commits, of which it lists the first ones. */
    total_commits: z.int().nullish(),
  })
  .transform(({ ref, after, deleted, commits, total_commits }): Push[] => {
    const branch = branchOf(ref);
    if (branch === undefined || deleted || isGone(after)) return [];
    const told = commits ?? [];
    // A new branch, or one that was reset, lists no commits although files differ.
    const isAll = told.length > 0 && told.length < COMMITS_MAX && told.length >= (total_commits ?? 0);
    return [
      {
        type: "push",
        branch,
        commit: after,
        files: isAll ? filesOf(told) : undefined,
        isSkipRequested: isAll && requestsSkip(told.map(({ message }) => message)),
      },
    ];
  });

function filesOf(commits: readonly z.infer<typeof PushedCommit>[]): readonly string[] | undefined {
  return touchedFiles(
    commits.flatMap(({ added, modified, removed }) => [...(added ?? []), ...(modified ?? []), ...(removed ?? [])]),
  );
}

const ACTIONS: Readonly<Record<string, PullRequestChange["action"]>> = {
  opened: "open",
  reopened: "open",
  synchronize: "open",
  // Gitea's name of the action.
  synchronized: "open",
  closed: "close",
};

/** Authors whose code the repository accepts anyway. */
const TRUSTED = ["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR"];

const Side = z.object({ ref: Text, sha: Commit, repo: z.object({ full_name: Text }).nullish() });

const PullRequest = z.object({
  html_url: Url,
  author_association: Text.nullish(),
  head: Side,
  base: Side,
});
type PullRequest = z.infer<typeof PullRequest>;

const pullRequestEvent = (isTrusted: (request: PullRequest) => boolean) =>
  z
    .object({ action: Text, number: PullRequestNumber, pull_request: PullRequest })
    .transform(({ action, number, pull_request }): PullRequestChange[] => {
      const known = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
      if (known === undefined) return [];
      const { base, head, html_url } = pull_request;
      return [
        {
          type: "pull_request",
          action: known,
          number,
          base: base.ref,
          commit: head.sha,
          isTrusted: isTrusted(pull_request),
          url: html_url ?? null,
        },
      ];
    });

/** GitHub sends the author's relation to the repository. */
export const GithubPullRequest = pullRequestEvent(({ author_association }) =>
  TRUSTED.includes(author_association ?? "NONE"),
);

/** Gitea does not, but only members can push to the repository itself. A deleted fork is `null`. */
export const GiteaPullRequest = pullRequestEvent(
  ({ head, base }) => head.repo === undefined || head.repo?.full_name === base.repo?.full_name,
);
