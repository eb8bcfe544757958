import type { ApplicationSettings } from "../application/application.ts";
import type { MatchEffort } from "../glob.ts";
import type { PullRequestChange, Push, PushedRepository } from "./intent.ts";
import { isWatched } from "./watch-paths.ts";

/** The settings of an application that decide what a delivery causes. */
export const PUSH_SETTINGS = [
  "git_branch",
  "git_commit_sha",
  "is_auto_deploy_enabled",
  "is_pr_deployments_public_enabled",
  "is_preview_deployments_enabled",
  "preview_url_template",
  "watch_paths",
] as const satisfies readonly (keyof ApplicationSettings)[];

export type PushSetting = (typeof PUSH_SETTINGS)[number];

type Settings = Pick<ApplicationSettings, Exclude<PushSetting, "git_commit_sha" | "preview_url_template">>;

/** What a delivery causes for one application of the repository. */
export type WebhookDecision =
  | { readonly action: "deploy" }
  | { readonly action: "close" }
  | { readonly action: "skip"; readonly message: string; readonly details?: Readonly<Record<string, unknown>> };

/** Whether the application is deployed from this branch. */
export function followsBranch(
  { git_branch }: Pick<Settings, "git_branch">,
  branch: string,
  { defaultBranch }: Pick<PushedRepository, "defaultBranch">,
): boolean {
  const followed = git_branch.replace(/^refs\/heads\//, "");
  return followed === "" || followed === "HEAD" ? branch === defaultBranch : branch === followed;
}

/** @param effort Shared by all decisions about one delivery. */
export function pushDecision(settings: Settings, push: Push, effort?: MatchEffort): WebhookDecision {
  if (!settings.is_auto_deploy_enabled) return skip("Automatic deployments are off.");
  if (push.isSkipRequested) return skip("Every commit message says [skip ci] or [skip cd].");
  if (isWatched(settings.watch_paths, push.files, effort)) return { action: "deploy" };
  const details = { changed_files: push.files?.slice(0, FILES_SHOWN_MAX), watch_paths: settings.watch_paths };
  return { ...skip("Changed files do not match watch paths."), details };
}

export function pullRequestDecision(settings: Settings, change: PullRequestChange): WebhookDecision {
  // Previews are removed whatever the settings are now, since they may have been created under others.
  if (change.action === "close") return { action: "close" };
  if (!settings.is_preview_deployments_enabled) return skip("Preview deployments are off.");
  if (change.isTrusted || settings.is_pr_deployments_public_enabled) return { action: "deploy" };
  return skip("Preview deployments of pull requests from the public are off (is_pr_deployments_public_enabled).");
}

const FILES_SHOWN_MAX = 50;

const skip = (message: string) => ({ action: "skip", message }) as const;
