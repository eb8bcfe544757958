import { createHmac, randomUUID } from "node:crypto";
import type { WebhookProvider } from "@berth/core";

/** What is told of a push or a pull request, whatever the host. */
export interface TestPush {
  readonly repository?: string;
  readonly repositoryId?: number;
  readonly branch?: string;
  readonly commit?: string;
  readonly files?: readonly string[];
  readonly messages?: readonly string[];
  readonly isDeleted?: boolean;
}

export interface TestPullRequest {
  readonly repository?: string;
  readonly repositoryId?: number;
  readonly action?: "open" | "update" | "close";
  readonly number?: number;
  readonly base?: string;
  readonly commit?: string;
  /** From a fork, by someone the repository does not know. */
  readonly isPublic?: boolean;
}

export interface TestEvent {
  readonly event: string;
  readonly payload: object;
}

/** Payloads as each host documents them, shortened only where they go on in the same way. */
export const WEBHOOK_PAYLOADS: Readonly<
  Record<WebhookProvider, { push(push?: TestPush): TestEvent; pullRequest(request?: TestPullRequest): TestEvent }>
> = {
  github: { push: githubPush, pullRequest: githubPullRequest },
  gitlab: { push: gitlabPush, pullRequest: gitlabMergeRequest },
  bitbucket: { push: bitbucketPush, pullRequest: bitbucketPullRequest },
  gitea: { push: giteaPush, pullRequest: giteaPullRequest },
};

export interface TestDelivery {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A delivery as the host sends it, signed with the secret. */
export function webhookDelivery(
  provider: WebhookProvider,
  { event, payload }: TestEvent,
  { secret, id = randomUUID(), isForm = false }: { secret: string; id?: string; isForm?: boolean },
): TestDelivery {
  const json = JSON.stringify(payload);
  const body = isForm ? new URLSearchParams({ payload: json }).toString() : json;
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    body,
    headers: {
      "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json",
      ...HEADERS[provider](event, id, signature, secret),
    },
  };
}

const HEADERS: Readonly<
  Record<WebhookProvider, (event: string, id: string, signature: string, secret: string) => Record<string, string>>
> = {
  github: (event, id, signature) => ({
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-github-hook-id": "292430182",
    "x-hub-signature-256": `sha256=${signature}`,
  }),
  gitlab: (event, id, _signature, secret) => ({
    "user-agent": "GitLab/17.9.0",
    "x-gitlab-event": event === "push" ? "Push Hook" : "Merge Request Hook",
    "x-gitlab-event-uuid": id,
    "x-gitlab-instance": "https://gitlab.example",
    "x-gitlab-token": secret,
  }),
  bitbucket: (event, id, signature) => ({
    "user-agent": "Bitbucket-Webhooks/2.0",
    "x-event-key": event,
    "x-request-uuid": id,
    "x-attempt-number": "1",
    "x-hub-signature": `sha256=${signature}`,
  }),
  gitea: (event, id, signature) => ({
    "x-gitea-event": event,
    "x-gitea-event-type": event,
    "x-gitea-delivery": id,
    "x-gitea-signature": signature,
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${signature}`,
  }),
};

const GONE = "0".repeat(40);
const OLD = "6113728f27ae82c7b1a177c8d03f9e96e0adf246";
const NEW = "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5";

const PUSH: Required<TestPush> = {
  repository: "team/hello",
  repositoryId: 186853002,
  branch: "main",
  commit: NEW,
  files: ["src/index.ts"],
  messages: ["Say hello"],
  isDeleted: false,
};

const PULL_REQUEST: Required<TestPullRequest> = {
  repository: "team/hello",
  repositoryId: 186853002,
  action: "open",
  number: 7,
  base: "main",
  commit: NEW,
  isPublic: false,
};

/** All files are those of the last commit. */
const commitsOf = ({ commit, files, messages }: Required<TestPush>) =>
  messages.map((message, index) => {
    const isLast = index === messages.length - 1;
    return {
      id: isLast ? commit : OLD,
      message,
      timestamp: "2026-05-01T12:00:00+02:00",
      url: `https://git.example/commit/${commit}`,
      author: { name: "Ada", email: "ada@example.com" },
      added: [],
      removed: [],
      modified: isLast ? files : [],
    };
  });

function githubPush(push: TestPush = {}): TestEvent {
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

function githubPullRequest(request: TestPullRequest = {}): TestEvent {
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

function gitlabPush(push: TestPush = {}): TestEvent {
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

function gitlabMergeRequest(request: TestPullRequest = {}): TestEvent {
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

function bitbucketPush(push: TestPush = {}): TestEvent {
  const told = { ...PUSH, ...push };
  const target = (hash: string) => ({
    type: "commit",
    hash,
    message: told.messages.at(-1),
    date: "2026-05-01T12:00:00Z",
  });
  const branch = (hash: string) => ({ type: "branch", name: told.branch, target: target(hash) });
  return {
    event: "repo:push",
    payload: {
      actor: { type: "user", display_name: "Ada" },
      repository: bitbucketRepository(told.repository),
      push: {
        changes: [
          {
            old: branch(OLD),
            new: told.isDeleted ? null : branch(told.commit),
            created: false,
            closed: told.isDeleted,
            forced: false,
            truncated: false,
            commits: told.messages.map((message) => ({ type: "commit", hash: told.commit, message })),
          },
        ],
      },
    },
  };
}

function bitbucketPullRequest(request: TestPullRequest = {}): TestEvent {
  const told = { ...PULL_REQUEST, ...request };
  const source = told.isPublic ? "stranger/hello" : told.repository;
  return {
    event: { open: "pullrequest:created", update: "pullrequest:updated", close: "pullrequest:fulfilled" }[told.action],
    payload: {
      actor: { type: "user", display_name: "Ada" },
      repository: bitbucketRepository(told.repository),
      pullrequest: {
        id: told.number,
        title: "Say hello",
        state: told.action === "close" ? "MERGED" : "OPEN",
        source: {
          branch: { name: "changes" },
          commit: { type: "commit", hash: told.commit.slice(0, 12) },
          repository: bitbucketRepository(source),
        },
        destination: {
          branch: { name: told.base },
          commit: { type: "commit", hash: OLD.slice(0, 12) },
          repository: bitbucketRepository(told.repository),
        },
        links: { html: { href: `https://bitbucket.org/${told.repository}/pull-requests/${told.number}` } },
      },
    },
  };
}

const bitbucketRepository = (fullName: string) => ({
  type: "repository",
  full_name: fullName,
  name: fullName.split("/")[1],
  uuid: "{21fa9bf8-b5b2-4891-97ed-d590bad0f871}",
  is_private: true,
  links: { html: { href: `https://bitbucket.org/${fullName}` } },
});

function giteaPush(push: TestPush = {}): TestEvent {
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

function giteaPullRequest(request: TestPullRequest = {}): TestEvent {
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
