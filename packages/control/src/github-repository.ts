import { DomainError, invalid, isDomainError, notFound } from "@berth/core";
import type { ApplicationSettings } from "@berth/core/application";
import type { ApplicationRecord, GithubAppRecord, GithubSource } from "@berth/core/ports";
import { parseRepositoryName, type RepositoryName, repositoryText } from "@berth/core/source";
import type { UseCaseContext } from "./context.ts";
import { loginOf } from "./github-app.ts";

type GithubContext = Pick<UseCaseContext, "stores" | "gitHost">;

/** The repository of an application that uses a GitHub app. */
export interface GithubRepository {
  /** Its address, to be validated like any other. */
  readonly url: string;
  /** Asks GitHub whether the app may read it. Slow, so it is the last check of a request. */
  verify(): Promise<{
    readonly github_app: Pick<GithubSource, "id" | "repository_id">;
    /** With GitHub's current name of the repository. */
    readonly settings: Pick<ApplicationSettings, "git_repository">;
  }>;
}

/** @throws DomainError `resource.not_found`, `request.invalid` */
export async function githubRepository(
  context: GithubContext,
  sent: { readonly github_app_uuid: string; readonly git_repository: string },
): Promise<GithubRepository> {
  const app = await context.stores.githubApps.findByUuid(sent.github_app_uuid);
  if (app === undefined) throw notFound("Github App");
  return repositoryOf(context, app, sent.git_repository);
}

/** Changes the repository of an application. @throws DomainError `request.invalid` */
export async function changedRepository(
  context: GithubContext,
  { github_app }: ApplicationRecord,
  git_repository: string | null | undefined,
): Promise<GithubRepository | undefined> {
  if (github_app === null || git_repository === undefined) return undefined;
  const app = await context.stores.githubApps.find(github_app.id);
  if (app === undefined) throw notFound("Github App");
  return repositoryOf(context, app, git_repository ?? "");
}

function repositoryOf(context: GithubContext, app: GithubAppRecord, text: string): GithubRepository {
  const name = parseRepositoryName(text, app.html_url);
  if (name === undefined) {
    const problem = `Must be owner/name, or the address of a repository at ${app.html_url}.`;
    throw invalid({ git_repository: [problem] });
  }
  return {
    url: `${app.html_url}/${repositoryText(name)}.git`,
    async verify() {
      const { id, full_name } = await find(context, app, name);
      const found = parseRepositoryName(full_name, app.html_url);
      if (found === undefined) throw unreadable(app);
      return { github_app: { id: app.id, repository_id: id }, settings: { git_repository: repositoryText(found) } };
    },
  };
}

/** The name becomes a part of the URL to fetch from, and the host may be hostile. */
const unreadable = ({ api_url }: GithubAppRecord) =>
  new DomainError(
    "git_host.failed",
    `${new URL(api_url).host} returned an invalid name for the repository. Check api_url.`,
  );

async function find({ stores, gitHost }: GithubContext, app: GithubAppRecord, name: RepositoryName) {
  try {
    return await gitHost.repository(await loginOf(stores, app), name);
  } catch (cause) {
    if (!isDomainError(cause, "git_host.failed")) throw cause;
    throw new DomainError("git_host.failed", `Failed to verify repository access: ${cause.message}`, { cause });
  }
}
