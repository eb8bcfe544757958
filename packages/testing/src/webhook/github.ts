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

export function githubPush(push: TestPush = {}): TestEvent {
  const told = { ...PUSH, ...push };
  const commits = told.isDeleted ? [] : commitsOf(told);
  return {
    event: "push",
    payload: {
      ref: `refs/heads/${told.branch}`,
      before: OLD,
      after: told.isDeleted ? GONE : told.commit,
      created: false,
      deleted: told.isDeleted,
      forced: false,
      base_ref: null,
      compare: `https://github.com/${told.repository}/compare/6113728f27ae...000000000000`,
      commits,
      head_commit: commits.at(-1) ?? null,
      repository: githubRepository(told.repository, told.repositoryId),
      pusher: { name: "ada", email: "ada@example.com" },
      sender: githubUser("ada"),
      installation: { id: 815 },
    },
  };
}

export function githubPullRequest(request: TestPullRequest = {}): TestEvent {
  const told = { ...PULL_REQUEST, ...request };
  const head = told.isPublic ? "stranger/hello" : told.repository;
  return {
    event: "pull_request",
    payload: {
      action: { open: "opened", update: "synchronize", close: "closed" }[told.action],
      number: told.number,
      pull_request: {
        id: 279147437,
        number: told.number,
        state: told.action === "close" ? "closed" : "open",
        title: "Update the README with new information.",
        html_url: `https://github.com/${told.repository}/pull/${told.number}`,
        user: githubUser(told.isPublic ? "stranger" : "ada"),
        author_association: told.isPublic ? "NONE" : "MEMBER",
        draft: false,
        merged: false,
        head: { label: "ada:changes", ref: "changes", sha: told.commit, repo: githubRepository(head, 5) },
        base: {
          label: "team:main",
          ref: told.base,
          sha: OLD,
          repo: githubRepository(told.repository, told.repositoryId),
        },
      },
      repository: githubRepository(told.repository, told.repositoryId),
      sender: githubUser("ada"),
      installation: { id: 815 },
    },
  };
}

const githubUser = (login: string) => ({ login, id: 21031067, type: "User", site_admin: false });

function githubRepository(fullName: string, id: number) {
  const [owner = "", name = ""] = fullName.split("/");
  return {
    id,
    node_id: "MDEwOlJlcG9zaXRvcnkxODY4NTMwMDI=",
    name,
    full_name: fullName,
    private: true,
    owner: { name: owner, ...githubUser(owner) },
    html_url: `https://github.com/${fullName}`,
    clone_url: `https://github.com/${fullName}.git`,
    ssh_url: `git@github.com:${fullName}.git`,
    git_url: `git://github.com/${fullName}.git`,
    default_branch: "main",
    master_branch: "main",
  };
}
