import { DomainError } from "@berth/core";
import { formatGitUrl, type GitUrl, parseGitUrl } from "@berth/core/source";
import type { GuardedHttp } from "./guarded-http.ts";

const SUFFIX = "/info/refs?service=git-upload-pack";

/**
 * Asks a server for its redirect of a git request: one step, without credentials.
 * @returns The address with its scheme, never from https to http.
 * @throws DomainError `source.not_found`, `source.unreachable`
 */
export async function redirectTarget(url: GitUrl, http: GuardedHttp): Promise<GitUrl> {
  const asked = `${formatGitUrl(url).replace(/\/+$/, "")}${SUFFIX}`;
  const answer = await http(asked, { headers: { "user-agent": "git/2" } });
  await answer.body.dump();
  const { location } = answer.headers;
  const isPlace = typeof location === "string" && URL.canParse(location, asked);
  const target = isPlace ? new URL(location, asked).href : undefined;
  // git requires the same ending; otherwise the target is a login page or the like.
  if (target === undefined || !target.endsWith(SUFFIX)) {
    throw new DomainError(
      "source.not_found",
      `${url.host} sends ${formatGitUrl(url)} to an address that is not a repository. Check the address.`,
    );
  }
  const next = parseGitUrl(target.slice(0, -SUFFIX.length));
  if (next.scheme !== "https" && (url.scheme === "https" || next.scheme !== "http")) {
    throw new DomainError("source.not_found", `${url.host} redirects to ${next.scheme}, which is not safe.`);
  }
  return next;
}
