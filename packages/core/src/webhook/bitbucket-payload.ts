import { z } from "zod";
import { type PullRequestChange, type Push, type PushedRepository, requestsSkip } from "./intent.ts";
import { Commit, keysOf, Name, PullRequestNumber, Text, Url } from "./payload.ts";

export const BitbucketRepositoryEvent = z
  .object({
    repository: z.object({ full_name: Name, mainbranch: z.object({ name: Name }).nullish() }),
  })
  .transform(
    ({ repository }): PushedRepository => ({
      // Bitbucket does not number repositories.
      id: null,
      name: repository.full_name,
      keys: keysOf(repository.full_name, null),
      defaultBranch: repository.mainbranch?.name ?? null,
    }),
  );

export const BitbucketPush = z
  .object({
    push: z.object({
      changes: z.array(
        z.object({
          /** `null`: the branch was deleted. */
          new: z.object({ type: Text, name: Text, target: z.object({ hash: Commit }) }).nullish(),
          commits: z.array(z.object({ message: Text })).nullish(),
          /** The push has more commits than listed. */
          truncated: z.boolean().nullish(),
        }),
      ),
    }),
  })
  .transform(({ push }): Push[] => {
    // Of several changes of a branch the last one counts.
    const pushes = new Map<string, Push>();
    for (const { new: pushed, commits, truncated } of push.changes) {
      if (pushed?.type !== "branch") continue;
      const messages = truncated ? undefined : commits?.map(({ message }) => message);
      // Bitbucket does not list files.
      const change = {
        type: "push",
        branch: pushed.name,
        commit: pushed.target.hash,
        files: undefined,
        isSkipRequested: requestsSkip(messages),
      } as const;
      pushes.set(pushed.name, change);
    }
    return [...pushes.values()];
  });

const End = z.object({
  branch: z.object({ name: Text }),
  commit: z.object({ hash: Commit }).nullish(),
  repository: z.object({ full_name: Text }).nullish(),
});

export const bitbucketPullRequest = (action: PullRequestChange["action"]) =>
  z
    .object({
      pullrequest: z.object({
        id: PullRequestNumber,
        state: Text.nullish(),
        source: End,
        destination: End,
        links: z.object({ html: z.object({ href: Url }).nullish() }).nullish(),
      }),
    })
    .transform(({ pullrequest }): PullRequestChange[] => {
      const { id, state, source, destination, links } = pullrequest;
      // Titles can change long after the pull request was closed.
      const hasEnded = action === "update" && (state ?? "OPEN") !== "OPEN";
      if (!source.commit || hasEnded) return [];
      return [
        {
          type: "pull_request",
          action,
          number: id,
          base: destination.branch.name,
          commit: source.commit.hash,
          // Not from a fork; a deleted fork is `null`.
          isTrusted:
            source.repository === undefined || source.repository?.full_name === destination.repository?.full_name,
          url: links?.html?.href ?? null,
        },
      ];
    });
