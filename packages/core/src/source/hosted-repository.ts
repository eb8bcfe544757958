import { z } from "zod";
import type { ApplicationRecord } from "../ports/records.ts";

const text = z.string();
const textOrNull = z.string().nullable();

/**
 * The fields of a host's repository in answers. Hosts send more, for private repositories even a token to clone with.
 */
export const HostedRepository = z
  .object({
    id: z.int(),
    node_id: text.optional(),
    name: text,
    full_name: text.describe("`owner/name`: what git_repository takes."),
    owner: z.object({
      login: text,
      id: z.int(),
      type: text.optional(),
      avatar_url: textOrNull.optional(),
      html_url: textOrNull.optional(),
    }),
    private: z.boolean(),
    html_url: text,
    description: textOrNull.optional(),
    fork: z.boolean().optional(),
    url: text.optional(),
    clone_url: text.optional(),
    git_url: text.optional(),
    ssh_url: text.optional(),
    default_branch: text.optional(),
    language: textOrNull.optional(),
    size: z.int().optional(),
    archived: z.boolean().optional(),
    disabled: z.boolean().optional(),
    visibility: text.optional(),
    topics: z.array(text).optional(),
    permissions: z.record(text, z.boolean()).optional(),
    pushed_at: textOrNull.optional(),
    created_at: textOrNull.optional(),
    updated_at: textOrNull.optional(),
  })
  .meta({ id: "HostedRepository", description: "A repository at a git host, as the host describes it." });
export type HostedRepository = z.infer<typeof HostedRepository>;

export const HostedBranch = z
  .object({
    name: text,
    commit: z.object({ sha: text, url: text.optional() }).describe("Its newest commit."),
    protected: z.boolean().optional(),
  })
  .meta({ id: "HostedBranch", description: "A branch of a repository at a git host, as the host describes it." });
export type HostedBranch = z.infer<typeof HostedBranch>;

/** Limited before items are validated. GitHub sends a hundred. */
const PAGE_ITEMS_MAX = 1000;

/** GitHub's answers to lists, and to the request of a token. */
export const RepositoryPage = z.object({ repositories: z.array(HostedRepository).max(PAGE_ITEMS_MAX) });
export const BranchPage = z.array(HostedBranch).max(PAGE_ITEMS_MAX);
export const InstallationToken = z.object({ token: z.string().regex(/^[\x21-\x7e]{1,4096}$/) });

export interface RepositoryName {
  readonly owner: string;
  readonly name: string;
}

/** Lists of a git host are cut to this length. */
export const LISTED_MAX = 5000;

/** Name of an owner or a repository at GitHub. `.` and `..` would change the path. */
const PART = /^(?!\.{1,2}$)[\w.-]{1,100}$/;
export const RepositoryNamePart = z.string().regex(PART, "Only letters, digits, -, _ and . are allowed.");

/**
 * `owner/name` from what people enter: also a URL at the app's own site, with surrounding slashes or a trailing
 * `.git`.
 *
 * @param htmlUrl URL of the site, e.g. `https://github.com`.
 */
export function parseRepositoryName(text: string, htmlUrl: string): RepositoryName | undefined {
  const site = htmlUrl.replace(/^https?:\/\//i, "").replace(/\/+$/, "");
  const path = withoutPrefix(withoutPrefix(text.trim().replace(/^https?:\/\//i, ""), `git@${site}:`), `${site}/`);
  const [owner = "", name = "", ...rest] = path
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/i, "")
    .split("/");
  return rest.length === 0 && PART.test(owner) && PART.test(name) ? { owner, name } : undefined;
}

const withoutPrefix = (text: string, prefix: string): string =>
  text.toLowerCase().startsWith(prefix.toLowerCase()) ? text.slice(prefix.length) : text;

/** The URL of an application's repository; with a GitHub app the application stores only its name. */
export const repositoryUrl = ({
  github_app,
  settings: { git_repository },
}: Pick<ApplicationRecord, "github_app" | "settings">): string =>
  github_app === null ? git_repository : `${github_app.html_url}/${git_repository}.git`;

export const repositoryText = ({ owner, name }: RepositoryName): string => `${owner}/${name}`;
