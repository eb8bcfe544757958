import type { ProviderIdentity } from "@berth/core/ports";
import * as client from "openid-client";
import { z } from "zod";

/** GitHub's documented endpoints; it has no discovery for sign-ins. */
export const githubServer = (url: string): client.ServerMetadata => ({
  issuer: `${url}/login/oauth`,
  authorization_endpoint: `${url}/login/oauth/authorize`,
  token_endpoint: `${url}/login/oauth/access_token`,
});

/** GitHub's own API has a host of its own, that of GitHub Enterprise a path. */
const apiOf = (url: string): string => (url === "https://github.com" ? "https://api.github.com" : `${url}/api/v3`);

const GithubUser = z.object({ id: z.int(), login: z.string(), name: z.string().nullish() });
const GithubEmails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

export async function githubIdentity(
  configuration: client.Configuration,
  url: string,
  { access_token }: { readonly access_token: string },
): Promise<ProviderIdentity> {
  const read = async (path: string): Promise<unknown> => {
    const at = new URL(`${apiOf(url)}${path}`);
    const headers = new Headers({ accept: "application/vnd.github+json", "user-agent": "berth" });
    const answer = await client.fetchProtectedResource(configuration, access_token, at, "GET", null, headers);
    if (!answer.ok) throw new TypeError(`GitHub answered ${answer.status}.`);
    return await answer.json();
  };
  const { id, login, name } = GithubUser.parse(await read("/user"));
  const emails = GithubEmails.parse(await read("/user/emails"));
  const own = emails.find(({ primary, verified }) => primary && verified);
  // A login may be given to somebody else later, a number never is.
  return { subject: String(id), email: own?.email.toLowerCase() ?? null, name: name ?? login, groups: [] };
}
