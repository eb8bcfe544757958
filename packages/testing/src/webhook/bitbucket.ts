import { OLD, PULL_REQUEST, PUSH, type TestEvent, type TestPullRequest, type TestPush } from "./facts.ts";

export function bitbucketPush(push: TestPush = {}): TestEvent {
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

export function bitbucketPullRequest(request: TestPullRequest = {}): TestEvent {
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
