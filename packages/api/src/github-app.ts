import { Message } from "@berth/core";
import {
  GithubApp,
  GithubAppChanged,
  GithubAppCreate,
  GithubAppUpdate,
  HostedBranches,
  HostedRepositories,
  RepositoryNamePart,
} from "@berth/core/source";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const github_app_id = z.int().min(0).describe("The GitHub app's number: `id` in its answers.");

export const githubApps = {
  list: operation({
    method: "GET",
    path: "/github-apps",
    operationId: "list-github-apps",
    tag: "GitHub Apps",
    summary: "List GitHub apps",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(GithubApp))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.githubApps.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/github-apps",
    operationId: "create-github-app",
    tag: "GitHub Apps",
    summary: "Add a GitHub app",
    description:
      "Adds an app that was created and installed at GitHub. Its RSA key must be stored as a private key of the team first.",
    ability: "write",
    status: 201,
    errors: ["resource.not_found"],
  })
    .input(GithubAppCreate)
    .output(GithubApp)
    .mutation(({ ctx, input }) => ctx.control.githubApps.create(input)),

  update: operation({
    method: "PATCH",
    path: "/github-apps/{github_app_id}",
    operationId: "updateGithubApp",
    tag: "GitHub Apps",
    summary: "Change a GitHub app",
    description: "Omitted fields keep their values, secrets too.",
    ability: "write",
  })
    .input(GithubAppUpdate.extend({ github_app_id }))
    .output(GithubAppChanged)
    .mutation(({ ctx, input: { github_app_id: id, ...change } }) => ctx.control.githubApps.update(id, change)),

  delete: operation({
    method: "DELETE",
    path: "/github-apps/{github_app_id}",
    operationId: "deleteGithubApp",
    tag: "GitHub Apps",
    summary: "Remove a GitHub app",
    description: "Removes it here, not at GitHub. Refused while applications use it as their source.",
    ability: "write",
    errors: ["github_app.in_use"],
  })
    .input(z.strictObject({ github_app_id }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.githubApps.delete(input.github_app_id)),

  repositories: operation({
    method: "GET",
    path: "/github-apps/{github_app_id}/repositories",
    operationId: "load-repositories",
    tag: "GitHub Apps",
    summary: "List the repositories a GitHub app may read",
    description: "Read from GitHub now; at most 5000.",
    ability: "read",
    errors: ["git_host.refused", "git_host.failed", "rate.limited"],
  })
    .input(z.strictObject({ github_app_id, ...paging }))
    .output(HostedRepositories)
    .query(async ({ ctx, input: { github_app_id: id, ...page } }) => ({
      repositories: [...listed(ctx, await ctx.control.githubApps.repositories(id, page), page)],
    })),

  branches: operation({
    method: "GET",
    path: "/github-apps/{github_app_id}/repositories/{owner}/{repo}/branches",
    operationId: "load-branches",
    tag: "GitHub Apps",
    summary: "List the branches of a repository",
    description: "Read from GitHub now; at most 5000.",
    ability: "read",
    errors: ["git_host.not_found", "git_host.refused", "git_host.failed", "rate.limited"],
  })
    .input(
      z.strictObject({
        github_app_id,
        owner: RepositoryNamePart.describe("Owner of the repository."),
        repo: RepositoryNamePart.describe("Name of the repository."),
        ...paging,
      }),
    )
    .output(HostedBranches)
    .query(async ({ ctx, input: { github_app_id: id, owner, repo, ...page } }) => ({
      branches: [...listed(ctx, await ctx.control.githubApps.branches(id, { owner, name: repo }, page), page)],
    })),
};
