import { isIP } from "node:net";
import type { GitHost, GitHostLogin } from "@berth/core/ports";
import {
  BranchPage,
  HostedRepository,
  InstallationToken,
  LISTED_MAX,
  type RepositoryName,
  RepositoryPage,
} from "@berth/core/source";
import { type GuardedFetch, guardedFetch, mayConnect, type PrivateHosts } from "@berth/host";
import { githubProblem } from "./github-problem.ts";

export interface GithubHostOptions {
  readonly allowedPrivateHosts: PrivateHosts;
  /** Time limit of one request; a long list takes several. */
  readonly secondsMax?: number;
}

/** REST API of GitHub and GitHub Enterprise. */
export function githubHost({ allowedPrivateHosts, secondsMax = 20 }: GithubHostOptions): GitHost {
  const fetch = guardedFetch({ allowedPrivateHosts, secondsMax, bytesMax: BYTES_MAX });

  /** A client that acts as the app's installation. */
  async function installed(login: GitHostLogin, limits: TokenLimits = {}) {
    const token = await installationToken(fetch, login, limits);
    const call = await callerOf(fetch, login, `token ${token}`);
    return { token, call };
  }

  return {
    async repositories(login) {
      const { call } = await installed(login);
      return listAll((page) =>
        call("GET /installation/repositories", page, "list").then(({ data, hasMore }) => ({
          items: parsed(RepositoryPage, data, login).repositories,
          hasMore,
        })),
      );
    },

    async repository(login, name) {
      const { call } = await installed(login);
      const { data } = await call("GET /repos/{owner}/{repo}", pathOf(name), "repository");
      return parsed(HostedRepository, data, login);
    },

    async branches(login, name) {
      const { call } = await installed(login);
      return listAll((page) =>
        call("GET /repos/{owner}/{repo}/branches", { ...pathOf(name), ...page }, "repository").then(
          ({ data, hasMore }) => ({ items: parsed(BranchPage, data, login), hasMore }),
        ),
      );
    },

    async readToken(login, repositoryId) {
      const { token } = await installed(login, { repository_ids: [repositoryId], permissions: { contents: "read" } });
      return token;
    },

    mayCall(url) {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
      if (isIP(host) !== 0) return mayConnect(host, host, allowedPrivateHosts);
      return !/(^|\.)localhost$/.test(host) || mayConnect(host, "127.0.0.1", allowedPrivateHosts);
    },
  };
}

const BYTES_MAX = 4_000_000; // A page of 100 repositories is smaller than one MB.
const PAGE_SIZE = 100; // GitHub's maximum.

interface TokenLimits {
  readonly repository_ids?: readonly number[];
  readonly permissions?: Readonly<Record<string, string>>;
}

/**
 * Not created by the library: it shares a pending token among all clients with the same installation id, even those of
 * another app on another host, whose operator would then receive the token.
 */
async function installationToken(fetch: GuardedFetch, login: GitHostLogin, limits: TokenLimits): Promise<string> {
  const { appId, installationId } = login;
  const privateKey = login.privateKey.for(login.apiUrl);
  if (privateKey === undefined) throw githubProblem(undefined, { login, about: "origin" });
  const { createAppAuth } = await import("./octokit.ts");
  const { token: jwt } = await createAppAuth({ appId, privateKey })({ type: "app" }).catch((cause: unknown) => {
    throw githubProblem(cause, { login, about: "key" });
  });
  const call = await callerOf(fetch, login, `bearer ${jwt}`);
  const path = { installation_id: installationId };
  const { data } = await call(
    "POST /app/installations/{installation_id}/access_tokens",
    { ...path, ...limits },
    "token",
  );
  return parsed(InstallationToken, data, login).token;
}

type Caller = (
  route: string,
  parameters: Readonly<Record<string, unknown>>,
  about: "token" | "list" | "repository",
) => Promise<{ readonly data: unknown; readonly hasMore: boolean }>;

async function callerOf(fetch: GuardedFetch, login: GitHostLogin, authorization: string): Promise<Caller> {
  const { request } = await import("./octokit.ts");
  const call = request.defaults({
    baseUrl: login.apiUrl,
    headers: { authorization, "x-github-api-version": "2022-11-28", "user-agent": "berth" },
    request: { fetch, log: SILENT },
  });
  return async (route, parameters, about) => {
    try {
      const { data, headers } = await call(route, { ...parameters });
      return { data, hasMore: /;\s*rel="?next"?/.test(headers.link ?? "") };
    } catch (cause) {
      throw githubProblem(cause, { login, about });
    }
  };
}

const nothing = () => undefined;
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Pages are requested by number: the next address that a host names could lead elsewhere. */
async function listAll<T>(
  read: (page: { readonly per_page: number; readonly page: number }) => Promise<{
    readonly items: readonly T[];
    readonly hasMore: boolean;
  }>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = 1; page <= LISTED_MAX / PAGE_SIZE; page += 1) {
    const { items, hasMore } = await read({ per_page: PAGE_SIZE, page });
    all.push(...items);
    if (!hasMore || items.length === 0) break;
  }
  return all.slice(0, LISTED_MAX);
}

const pathOf = ({ owner, name }: RepositoryName) => ({ owner, repo: name });

interface Schema<T> {
  safeParse(
    data: unknown,
  ): { readonly success: true; readonly data: T } | { readonly success: false; readonly error: unknown };
}

function parsed<T>(schema: Schema<T>, data: unknown, login: GitHostLogin): T {
  const read = schema.safeParse(data);
  if (read.success) return read.data;
  throw githubProblem(read.error, { login, about: "answer" });
}
