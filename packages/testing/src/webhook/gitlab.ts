import {
  commitsOf,
  GONE,
  OLD,
  PULL_REQUEST,
  PUSH,
  type TestEvent,
  type TestPullRequest,
  type TestPush,
} from "./facts.ts";

export function gitlabPush(push: TestPush = {}): TestEvent {
  const told = { ...PUSH, ...push };
  const commits = told.isDeleted ? [] : commitsOf(told);
  return {
    event: "push",
    payload: {
      object_kind: "push",
      event_name: "push",
      before: OLD,
      after: told.isDeleted ? GONE : told.commit,
      ref: `refs/heads/${told.branch}`,
      ref_protected: true,
      checkout_sha: told.isDeleted ? null : told.commit,
      user_id: 4,
      user_name: "Ada",
      project_id: told.repositoryId,
      project: gitlabProject(told.repository, told.repositoryId),
      commits,
      total_commits_count: commits.length,
      repository: { name: "hello", git_http_url: `https://gitlab.example/${told.repository}.git`, visibility_level: 0 },
    },
  };
}

export function gitlabMergeRequest(request: TestPullRequest = {}): TestEvent {
  const told = { ...PULL_REQUEST, ...request };
  return {
    event: "merge_request",
    payload: {
      object_kind: "merge_request",
      event_type: "merge_request",
      user: { id: 1, name: "Ada", username: "ada" },
      project: gitlabProject(told.repository, told.repositoryId),
      object_attributes: {
        id: 99,
        iid: told.number,
        action: told.action,
        state: told.action === "close" ? "closed" : "opened",
        title: "MS-Viewport",
        source_branch: "changes",
        target_branch: told.base,
        source_project_id: told.isPublic ? 4242 : told.repositoryId,
        target_project_id: told.repositoryId,
        last_commit: { id: told.commit, message: "Say hello", timestamp: "2026-05-01T12:00:00+02:00" },
        url: `https://gitlab.example/${told.repository}/-/merge_requests/${told.number}`,
      },
      labels: [],
      changes: {},
    },
  };
}

const gitlabProject = (path: string, id: number) => ({
  id,
  name: "Hello",
  web_url: `https://gitlab.example/${path}`,
  git_ssh_url: `git@gitlab.example:${path}.git`,
  git_http_url: `https://gitlab.example/${path}.git`,
  namespace: "Team",
  visibility_level: 0,
  path_with_namespace: path,
  default_branch: "main",
});
