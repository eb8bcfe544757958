import { z } from "zod";
import { type PullRequestChange, type Push, type PushedRepository, requestsSkip, touchedFiles } from "./intent.ts";
import { branchOf, Commit, isGone, keysOf, Name, PullRequestNumber, Text, Url } from "./payload.ts";

/** Most system hooks have only an `event_name`. */
export const GitlabKind = z.union([
  z.object({ object_kind: Text }).transform(({ object_kind }) => object_kind),
  z.object({ event_name: Text }).transform(({ event_name }) => event_name),
]);

export const GitlabProjectEvent = z
  .object({
    project: z.object({
      id: z.int().optional(),
      path_with_namespace: Name,
      git_http_url: Url,
      default_branch: Name.nullish(),
    }),
  })
  .transform(
    ({ project }): PushedRepository => ({
      id: project.id ?? null,
      name: project.path_with_namespace,
      keys: keysOf(project.path_with_namespace, project.git_http_url),
      defaultBranch: project.default_branch ?? null,
    }),
  );

const Files = z.array(z.string()).nullish();

export const GitlabPush = z
  .object({
    ref: Text,
    after: Commit,
    commits: z.array(z.object({ message: Text, added: Files, modified: Files, removed: Files })).nullish(),
    /** GitLab lists only the newest 20 commits. */
    total_commits_count: z.int().nullish(),
  })
  .transform(({ ref, after, commits, total_commits_count }): Push[] => {
    const branch = branchOf(ref);
    if (branch === undefined || isGone(after)) return [];
    const told = commits ?? [];
    const isAll = told.length > 0 && told.length >= (total_commits_count ?? 0);
    const files = told.flatMap(({ added, modified, removed }) => [
      ...(added ?? []),
      ...(modified ?? []),
      ...(removed ?? []),
    ]);
    return [
      {
        type: "push",
        branch,
        commit: after,
        files: isAll ? touchedFiles(files) : undefined,
        isSkipRequested: isAll && requestsSkip(told.map(({ message }) => message)),
      },
    ];
  });

const ACTIONS: Readonly<Record<string, PullRequestChange["action"]>> = {
  open: "open",
  opened: "open",
  reopen: "open",
  reopened: "open",
  synchronize: "open",
  // Sent for new titles and labels too.
  update: "update",
  close: "close",
  closed: "close",
  merge: "close",
};

export const GitlabMergeRequest = z
  .object({
    object_attributes: z.object({
      iid: PullRequestNumber,
      action: Text.nullish(),
      state: Text.nullish(),
      target_branch: Text,
      source_project_id: z.int().nullish(),
      target_project_id: z.int().nullish(),
      last_commit: z.object({ id: Commit }),
      url: Url,
    }),
  })
  .transform(({ object_attributes: request }): PullRequestChange[] => {
    const action = Object.hasOwn(ACTIONS, request.action ?? "") ? ACTIONS[request.action ?? ""] : undefined;
    // Titles can change long after the merge request was closed.
    const hasEnded = action === "update" && (request.state ?? "opened") !== "opened";
    if (action === undefined || hasEnded) return [];
    return [
      {
        type: "pull_request",
        action,
        number: request.iid,
        base: request.target_branch,
        commit: request.last_commit.id,
        // From the project itself, not from a fork.
        isTrusted: request.source_project_id === request.target_project_id,
        url: request.url ?? null,
      },
    ];
  });
