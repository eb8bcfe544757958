import { DomainError } from "../errors.ts";

export const GIT_SCHEMES = ["https", "http", "git", "ssh", "file"] as const;
export type GitScheme = (typeof GIT_SCHEMES)[number];

/**
 * The normalised address of a repository. `formatGitUrl` of it is safe as an argument of git and contains no secret.
 */
export interface GitUrl {
  readonly scheme: GitScheme;
  /** ssh: the login, by default `git`. http(s): from the address, decoded, else `null`. */
  readonly username: string | null;
  /** http(s) only: from the address, decoded. A secret. */
  readonly password: string | null;
  /** Lower case, IDNA, an IPv4 address in dotted form, IPv6 in brackets. Empty for `file`. */
  readonly host: string;
  /** `null`: the scheme's default. */
  readonly port: number | null;
  /**
   * Percent-encoded. Begins with `/`, except in the form `git@host:path`, whose path is relative to the login's home.
   */
  readonly path: string;
}

/**
 * Parses `https://`, `http://`, `git://`, `ssh://`, `file://` addresses and `user@host:path`.
 * @throws DomainError `source.invalid`, with a message that does not repeat the address.
 */
export function parseGitUrl(text: string): GitUrl {
  if (text.length > URL_LENGTH_MAX) throw badUrl(`is longer than ${URL_LENGTH_MAX} characters`);
  if (text === "") throw badUrl("is empty");
  if (/[\p{C}\s\\'"`$;|&<>(){}^*!]/u.test(text)) {
    throw badUrl("contains a space, a quote or another character that repository addresses cannot have");
  }
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  const url = scheme === undefined ? parseScp(text) : parseWithScheme(text, scheme);
  if (/^[a-z0-9+.-]*::/i.test(url.path)) throw badUrl("names a transport helper, which is not supported");
  checkPath(url.path);
  return url;
}

/** The address as git accepts it: without password, and without a user name that is part of a secret. */
export function formatGitUrl({ scheme, username, host, port, path }: GitUrl): string {
  const authority = port === null ? host : `${host}:${port}`;
  if (scheme !== "ssh") return `${scheme}://${authority}${path}`;
  return path.startsWith("/") ? `ssh://${username}@${authority}${path}` : `${username}@${host}:${path}`;
}

/**
 * A submodule's address, which may be relative (`../other.git`) to that of the repository.
 * @throws DomainError `source.invalid`
 */
export function resolveGitUrl(base: GitUrl, text: string): GitUrl {
  if (!/^\.\.?\//.test(text)) return parseGitUrl(text);
  const segments = base.path.replace(/\/+$/, "").split("/");
  for (const segment of text.split("/")) {
    if (segment === "." || segment === "") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.length <= (base.path.startsWith("/") ? 1 : 0)) throw badUrl("leaves its host");
    else segments.pop();
  }
  const path = segments.join("/");
  checkPath(path);
  return parseGitUrl(formatGitUrl({ ...base, path }));
}

/**
 * The ref to fetch for a branch: `main` becomes `refs/heads/main`, a full name such as `refs/pull/7/head` stays, and
 * an empty text or `HEAD` becomes `null`, the repository's default branch.
 * @throws DomainError `source.invalid` for an invalid ref name.
 */
export function parseGitRef(text: string): string | null {
  if (text === "" || text === "HEAD") return null;
  const ref = text.startsWith("refs/") ? text : `refs/heads/${text}`;
  if (isRefName(ref) && ref.split("/").length >= 3 && !text.startsWith("-")) return ref;
  throw new DomainError("source.invalid", `${shown(text)} is not a branch name. Set git_branch to one, such as main.`);
}

/** A commit of the branch: its tip, an object id (full or shortened), or a tag. */
export type GitRevision =
  | { readonly type: "tip" }
  | { readonly type: "sha"; readonly sha: string; readonly isFull: boolean }
  | { readonly type: "tag"; readonly ref: string };

/** @throws DomainError `source.invalid` */
export function parseGitRevision(text: string): GitRevision {
  if (text === "" || text === "HEAD") return { type: "tip" };
  if (/^[0-9a-f]{7,64}$/i.test(text)) {
    return { type: "sha", sha: text.toLowerCase(), isFull: text.length === 40 || text.length === 64 };
  }
  const ref = text.startsWith("refs/tags/") ? text : `refs/tags/${text}`;
  if (isRefName(ref) && !text.startsWith("-")) return { type: "tag", ref };
  throw new DomainError(
    "source.invalid",
    `${shown(text)} is not a commit. Set git_commit_sha to a commit id, a tag or HEAD.`,
  );
}

function parseWithScheme(text: string, scheme: string): GitUrl {
  if (!isScheme(scheme)) throw badUrl(`begins with ${scheme}://. Use ${GIT_SCHEMES.join(", ")} or git@host:path`);
  if (/[?#]/.test(text)) throw badUrl("has a query or a fragment");
  // git:// and ssh:// are parsed as http://, so that its rules for hosts apply: IDNA, lower case, normalised IP
  // addresses.
  const rest = text.slice(scheme.length + "://".length);
  const isFile = scheme === "file";
  const url = tryUrl(isFile ? `file://${rest}` : `http://${rest}`);
  if (url === undefined) throw badUrl("is not a valid address");
  if (isFile && url.hostname !== "") throw badUrl("must name a folder of this machine: file:///path");
  const isHttp = scheme === "https" || scheme === "http";
  if (!isHttp && url.password !== "") throw badUrl("holds a password. Give an SSH key, or use https");
  if (!isHttp && scheme !== "ssh" && url.username !== "")
    throw badUrl(`contains a login, which ${scheme}:// does not support`);
  const username = decode(url.username) || (scheme === "ssh" ? "git" : null);
  if (scheme === "ssh") checkLogin(username ?? "");
  return {
    scheme,
    username,
    password: decode(url.password) || null,
    host: isFile ? "" : checkHost(url.hostname),
    port: isFile ? null : portOf(rest, scheme),
    path: url.pathname,
  };
}

/** `user@host:path`, the short form of ssh. A login is required, so that no other form matches. */
function parseScp(text: string): GitUrl {
  const { 1: username, 2: name, 3: path } = /^([^@:/]+)@(\[[^\]]*\]|[^@:/[\]]+):([^:-].*)$/.exec(text) ?? [];
  if (username === undefined || name === undefined || path === undefined) {
    throw badUrl("is not an address like https://host/owner/name.git or git@host:owner/name.git");
  }
  if (/[?#]/.test(path)) throw badUrl("has a query or a fragment");
  checkLogin(username);
  const host = tryUrl(`http://${name}`)?.hostname;
  if (host === undefined) throw badUrl("names no valid host");
  return { scheme: "ssh", username, password: null, host: checkHost(host), port: null, path: scpPath(path) };
}

/** An absolute path. git decodes paths of `ssh://` addresses, but not those of this form. */
function scpPath(path: string): string {
  if (!path.startsWith("/")) return path;
  checkPath(path);
  const encoded = tryUrl(`http://host${encodeURI(path)}`)?.pathname;
  if (encoded === undefined) throw badUrl("is not a valid address");
  return encoded;
}

const URL_LENGTH_MAX = 2048;

const DEFAULT_PORTS = { https: 443, http: 80, git: 9418, ssh: 22, file: null } as const satisfies Record<
  GitScheme,
  number | null
>;

/** The port of a URL that names none. */
export const defaultGitPort = (scheme: GitScheme): number | null => DEFAULT_PORTS[scheme];

const isScheme = (text: string): text is GitScheme => (GIT_SCHEMES as readonly string[]).includes(text);

/** Read from the text: the URL parser would drop the default port of http, which is not that of git or ssh. */
function portOf(rest: string, scheme: GitScheme): number | null {
  const authority = rest.split("/", 1)[0] ?? "";
  const digits = /:(\d+)$/.exec(authority)?.[1];
  if (digits === undefined) return null;
  const port = Number(digits);
  if (port < 1) throw badUrl("names port 0");
  return port === DEFAULT_PORTS[scheme] ? null : port;
}

function checkHost(name: string): string {
  const host = name.replace(/\.$/, "");
  const isName = /^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(host) && host.length <= 253;
  if (!isName && !/^\[[0-9a-f:.]+\]$/.test(host)) throw badUrl("names no valid host");
  return host;
}

function checkLogin(username: string): void {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(username)) throw badUrl("has a login that is not an SSH user");
}

function checkPath(path: string): void {
  const name = decode(path);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: encoded control characters are what is refused here.
  if (/[\u0000-\u001f\u007f]/.test(name)) throw badUrl("contains an encoded control character");
  if (name.split("/").includes("..")) throw badUrl("has .. in its path");
  if (/^\/*$/.test(name)) throw badUrl("names a host but no repository");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badUrl("has a % that is not followed by two hexadecimal digits");
  }
}

/** The rules of git-check-ref-format, for a full name. */
function isRefName(ref: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git's own rule names them.
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{/.test(ref) || ref.length > 255 || ref.endsWith(".")) return false;
  return ref.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

function tryUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** A user's text for a message: shortened, without control characters. */
const shown = (text: string): string => `"${text.slice(0, 80).replace(/\p{C}/gu, "?")}"`;

const badUrl = (problem: string) =>
  new DomainError("source.invalid", `The address of the repository ${problem}. Correct git_repository.`);
