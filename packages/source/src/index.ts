export { SOURCE_LIMITS, type SourceFetcherOptions, sourceFetcher } from "./git/fetcher.ts";
export type { SourceLimits } from "./git/git-context.ts";
export { type GithubHostOptions, githubHost } from "./git-host/github.ts";
