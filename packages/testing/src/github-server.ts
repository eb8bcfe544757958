import { createVerify, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The part of GitHub's REST API that Berth uses, on loopback, with one app and one installation. */
export interface GithubServer {
  /** `api_url` for a GitHub app. */
  readonly url: string;
  readonly appId: number;
  readonly installationId: number;
  /** In PKCS#1, like GitHub's keys. */
  readonly privateKey: string;
  /** `GET /path?query` of every request, in order. */
  readonly requests: readonly string[];
  /** Tokens that were issued, the newest last. */
  readonly tokens: readonly GivenToken[];
  /** Repositories that the installation sees; tests may change them. */
  readonly repositories: GithubRepository[];
  /** Answers requests whose `METHOD /path` begins with this text with a fault, until it is cleared. */
  fail(requests: string, fault: GithubFault): void;
  clearFaults(): void;
  close(): Promise<void>;
}

export interface GithubRepository {
  readonly id: number;
  /** Name in the form `owner/name`. */
  readonly fullName: string;
  readonly branches: readonly string[];
  /** Earlier names of the repository. */
  readonly formerNames?: readonly string[];
}

export interface GivenToken {
  readonly token: string;
  /** `undefined`: all repositories of the installation. */
  readonly repositoryIds: readonly number[] | undefined;
  readonly permissions: Readonly<Record<string, string>> | undefined;
}

export const GITHUB_FAULTS = [
  "unauthorized",
  "forbidden",
  "not_found",
  "rate_limited",
  "secondary_rate_limited",
  "too_many_requests",
  "server_error",
  "slow",
  "garbage",
  "other_json",
  "huge",
  "private_redirect",
] as const;
export type GithubFault = (typeof GITHUB_FAULTS)[number];

export interface GithubServerOptions {
  readonly repositories?: readonly GithubRepository[];
  readonly appId?: number;
  readonly installationId?: number;
}

export async function startGithubServer(options: GithubServerOptions = {}): Promise<GithubServer> {
  const { appId = 4711, installationId = 815 } = options;
  const keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const requests: string[] = [];
  const tokens: GivenToken[] = [];
  const faults = new Map<string, GithubFault>();
  const repositories = [...(options.repositories ?? [])];
  const state: State = { appId, installationId, publicKey: keys.publicKey, tokens, repositories };

  const server = createServer(async (request, response) => {
    const asked = `${request.method} ${request.url}`;
    requests.push(asked);
    const fault = [...faults].find(([prefix]) => asked.startsWith(prefix))?.[1];
    const body = await bodyOf(request);
    if (fault !== undefined) FAULTS[fault](response);
    else answer(state, request, body, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  return {
    url: `http://127.0.0.1:${port}`,
    appId,
    installationId,
    privateKey: keys.privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
    requests,
    tokens,
    repositories,
    fail: (prefix, fault) => void faults.set(prefix, fault),
    clearFaults: () => faults.clear(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface State {
  readonly appId: number;
  readonly installationId: number;
  readonly publicKey: KeyObject;
  readonly tokens: GivenToken[];
  readonly repositories: GithubRepository[];
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function answer(state: State, request: IncomingMessage, body: string, response: ServerResponse): ServerResponse {
  const url = new URL(request.url ?? "/", "http://github.test");
  const minting = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(url.pathname);
  if (request.method === "POST" && minting) return mint(state, request, Number(minting[1]), body, response);
  const token = state.tokens.find((given) => request.headers.authorization === `token ${given.token}`);
  if (token === undefined) return refuse(response, 401, "Bad credentials");
  if (url.pathname === "/installation/repositories") return listRepositories(state, token, url, response);
  const [, owner = "", name = "", isBranches] = /^\/repos\/([^/]+)\/([^/]+)(\/branches)?$/.exec(url.pathname) ?? [];
  const full = `${decodeURIComponent(owner)}/${decodeURIComponent(name)}`.toLowerCase();
  const found = visible(state, token).find(({ fullName, formerNames = [] }) =>
    [fullName, ...formerNames].some((one) => one.toLowerCase() === full),
  );
  if (found === undefined) return refuse(response, 404, "Not Found");
  if (found.fullName.toLowerCase() !== full) {
    // GitHub redirects renamed repositories to the number, which never changes.
    return response.writeHead(301, { location: `/repos/${found.fullName}${isBranches ?? ""}${url.search}` }).end();
  }
  if (isBranches === undefined) return send(response, 200, repositoryAnswer(found));
  return sendPage(response, url, found.branches.map(branchAnswer), (page) => page);
}

function mint(
  state: State,
  request: IncomingMessage,
  id: number,
  body: string,
  response: ServerResponse,
): ServerResponse {
  if (!isSignedByApp(state, request.headers.authorization)) {
    return refuse(response, 401, "A JSON web token could not be decoded");
  }
  if (id !== state.installationId) return refuse(response, 404, "Not Found");
  const wanted = body === "" ? {} : JSON.parse(body);
  const given: GivenToken = {
    token: `ghs_${randomBytes(18).toString("hex")}`,
    repositoryIds: wanted.repository_ids,
    permissions: wanted.permissions,
  };
  if (given.repositoryIds?.some((wantedId) => !state.repositories.some((repository) => repository.id === wantedId))) {
    return refuse(response, 422, "There is at least one repository that does not exist or is not accessible");
  }
  state.tokens.push(given);
  return send(response, 201, {
    token: given.token,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    permissions: given.permissions ?? { contents: "read", metadata: "read" },
    repository_selection: given.repositoryIds === undefined ? "all" : "selected",
  });
}

/** Whether it is a recent RS256 token issued by the app. */
function isSignedByApp({ publicKey, appId }: State, authorization = ""): boolean {
  const [, header = "", payload = "", signature = ""] =
    /^bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/i.exec(authorization) ?? [];
  const isGenuine = createVerify("RSA-SHA256")
    .update(`${header}.${payload}`)
    .verify(publicKey, Buffer.from(signature, "base64url"));
  if (!isGenuine || jsonOf(header).alg !== "RS256") return false;
  const { iss, iat, exp } = jsonOf(payload);
  const nowSeconds = Date.now() / 1000;
  return (
    Number(iss) === appId && Number(iat) <= nowSeconds && Number(exp) > nowSeconds && Number(exp) <= nowSeconds + 600
  );
}

const jsonOf = (part: string): Readonly<Record<string, unknown>> =>
  JSON.parse(Buffer.from(part, "base64url").toString("utf8"));

const visible = ({ repositories }: State, { repositoryIds }: GivenToken): readonly GithubRepository[] =>
  repositoryIds === undefined ? repositories : repositories.filter(({ id }) => repositoryIds.includes(id));

function listRepositories(state: State, token: GivenToken, url: URL, response: ServerResponse): ServerResponse {
  const all = visible(state, token).map(repositoryAnswer);
  return sendPage(response, url, all, (repositories) => ({
    total_count: all.length,
    repository_selection: "all",
    repositories,
  }));
}

function sendPage<T>(response: ServerResponse, url: URL, all: readonly T[], answerOf: (page: readonly T[]) => unknown) {
  const size = Math.min(100, Number(url.searchParams.get("per_page") ?? 30));
  const page = Number(url.searchParams.get("page") ?? 1);
  const rest = all.slice((page - 1) * size);
  // The host names the next page; a client must not send its token to any address that a host names.
  const next = `<http://169.254.169.254${url.pathname}?per_page=${size}&page=${page + 1}>; rel="next"`;
  return send(response, 200, answerOf(rest.slice(0, size)), rest.length > size ? { link: next } : {});
}

function repositoryAnswer({ id, fullName, branches }: GithubRepository) {
  const [login = "", name = ""] = fullName.split("/");
  return {
    id,
    node_id: `R_${id}`,
    name,
    full_name: fullName,
    private: true,
    owner: { login, id: 1, type: "Organization", avatar_url: "https://avatars.test/1", site_admin: false },
    html_url: `https://github.test/${fullName}`,
    description: null,
    fork: false,
    url: `https://api.github.test/repos/${fullName}`,
    clone_url: `https://github.test/${fullName}.git`,
    ssh_url: `git@github.test:${fullName}.git`,
    default_branch: branches[0] ?? "main",
    // Berth must not include this field in its answers.
    temp_clone_token: "AAAASECRETCLONETOKEN",
    permissions: { admin: false, push: false, pull: true },
  };
}

const branchAnswer = (name: string) => ({
  name,
  commit: { sha: "c".repeat(40), url: "https://api.github.test/commit" },
  protected: false,
});

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  return response.end(JSON.stringify(body));
}

const refuse = (response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}) =>
  send(
    response,
    status,
    { message, documentation_url: "https://docs.github.com/rest", status: String(status) },
    headers,
  );

const FAULTS: Readonly<Record<GithubFault, (response: ServerResponse) => unknown>> = {
  unauthorized: (response) => refuse(response, 401, "Bad credentials"),
  forbidden: (response) => refuse(response, 403, "Resource not accessible by integration"),
  not_found: (response) => refuse(response, 404, "Not Found"),
  rate_limited: (response) =>
    refuse(response, 403, "API rate limit exceeded for installation ID 815.", {
      "x-ratelimit-limit": "5000",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(Math.floor(Date.now() / 1000) + 120),
    }),
  secondary_rate_limited: (response) =>
    refuse(response, 403, "You have exceeded a secondary rate limit.", { "retry-after": "17" }),
  too_many_requests: (response) => refuse(response, 429, "Too many requests"),
  server_error: (response) => refuse(response, 502, "Server Error"),
  slow: () => undefined,
  garbage: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>"),
  other_json: (response) => send(response, 200, { hello: "world" }),
  huge: (response) => send(response, 200, "x".repeat(20_000_000)),
  private_redirect: (response) => response.writeHead(302, { location: "http://169.254.169.254/latest" }).end(),
};
