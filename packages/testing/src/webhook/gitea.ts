import { OLD, PULL_REQUEST, PUSH, type TestEvent, type TestPullRequest, type TestPush } from "./facts.ts";
import { githubPush } from "./github.ts";

export function giteaPush(push: TestPush = {}): TestEvent {
  const { event, payload } = githubPush(push);
  const told = { ...PUSH, ...push };
  return {
    event,
    payload: {
      ...payload,
      compare_url: `https://gitea.example/${told.repository}/compare/a...b`,
      total_commits: told.isDeleted ? 0 : told.messages.length,
      repository: giteaRepository(told.repository, told.repositoryId),
    },
  };
}

export function giteaPullRequest(request: TestPullRequest = {}): TestEvent {
  const told = { ...PULL_REQUEST, ...request };
  const head = told.isPublic ? "stranger/hello" : told.repository;
  return {
    event: "pull_request",
    payload: {
      action: { open: "opened", update: "synchronized", close: "closed" }[told.action],
      number: told.number,
      pull_request: {
        id: 12,
        number: told.number,
        title: "Say hello",
        html_url: `https://gitea.example/${told.repository}/pulls/${told.number}`,
        state: told.action === "close" ? "closed" : "open",
        merged: false,
        head: { label: "changes", ref: "changes", sha: told.commit, repo_id: 5, repo: giteaRepository(head, 5) },
        base: {
          label: told.base,
          ref: told.base,
          sha: OLD,
          repo_id: told.repositoryId,
          repo: giteaRepository(told.repository, told.repositoryId),
        },
      },
      repository: giteaRepository(told.repository, told.repositoryId),
      sender: { id: 1, login: "ada" },
    },
  };
}

const giteaRepository = (fullName: string, id: number) => ({
  id,
  owner: { id: 1, login: fullName.split("/")[0] },
  name: fullName.split("/")[1],
  full_name: fullName,
  private: true,
  html_url: `https://gitea.example/${fullName}`,
  clone_url: `https://gitea.example/${fullName}.git`,
  ssh_url: `git@gitea.example:${fullName}.git`,
  default_branch: "main",
});
