import { DomainError, isDomainError, jsonProblem } from "@berth/core";
import { formatGitUrl, type GitUrl } from "@berth/core/source";
import { readAtMost, run, toShell } from "@berth/host";
import { reach } from "./address.ts";
import type { Remote } from "./fetch.ts";
import { collector, type GitContext } from "./git-context.ts";
import { gitFailure } from "./git-error.ts";
import { credentialsAt, withGitSession } from "./git-session.ts";
import { brokenOff, type GuardedHttp, type HttpAnswer } from "./guarded-http.ts";
import type { LfsPointer } from "./lfs-pointer.ts";

/** Address of a repository's LFS server, and the headers for its requests. */
export interface LfsServer {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface LfsDownload extends LfsPointer {
  readonly href: string;
  readonly headers: Readonly<Record<string, string>>;
}

const MEDIA_TYPE = "application/vnd.git-lfs+json";
const REDIRECTS_MAX = 5;

/**
 * @param configured `lfs.url` of the repository's .lfsconfig.
 * @throws DomainError `source.*`
 */
export async function lfsServerOf(
  context: GitContext,
  remote: Remote,
  configured: string | undefined,
): Promise<LfsServer> {
  const { url } = remote;
  if (configured !== undefined) return { endpoint: httpUrl(configured, url), headers: basicFor(configured, remote) };
  if (url.scheme === "ssh") return lfsServerBySsh(context, remote);
  if (url.scheme !== "https" && url.scheme !== "http") {
    throw new DomainError("source.invalid", `Git LFS does not work over ${url.scheme}://. Use https or ssh.`);
  }
  const address = formatGitUrl(url).replace(/\/+$/, "");
  const endpoint = `${address.endsWith(".git") ? address : `${address}.git`}/info/lfs`;
  return { endpoint, headers: basicFor(endpoint, remote) };
}

/** Requests the download addresses of objects, at most 100 at once. */
export async function lfsDownloads(
  http: GuardedHttp,
  server: LfsServer,
  pointers: readonly LfsPointer[],
): Promise<LfsDownload[]> {
  const body = JSON.stringify({
    operation: "download",
    transfers: ["basic"],
    hash_algo: "sha256",
    objects: pointers.map(({ oid, sizeBytes }) => ({ oid, size: sizeBytes })),
  });
  const headers = { ...server.headers, accept: MEDIA_TYPE, "content-type": MEDIA_TYPE };
  const { host, origin } = new URL(server.endpoint);
  const answer = await http(`${server.endpoint}/objects/batch`, { method: "POST", headers, body });
  const text = await textOf(answer, host);
  if (answer.statusCode !== 200) throw refused(host, answer.statusCode);
  const objects = listOf(parseJson(text, host), "objects");
  return pointers.map((pointer) => {
    const found = objects.find((object) => fieldOf(object, "oid") === pointer.oid);
    const download = fieldOf(fieldOf(found, "actions"), "download");
    const href = fieldOf(download, "href");
    if (typeof href !== "string") throw missing(host, pointer);
    // Some hosts require the same login for the file itself, without repeating it.
    const own = new URL(httpUrl(href)).origin === origin ? server.headers : {};
    return { ...pointer, href, headers: { ...own, ...headersOf(fieldOf(download, "header")) } };
  });
}

async function textOf({ body }: HttpAnswer, host: string): Promise<string> {
  let text: Buffer | undefined;
  try {
    text = await readAtMost(body, ANSWER_BYTES_MAX);
  } catch (cause) {
    throw isDomainError(cause) ? cause : brokenOff(host, cause);
  }
  if (text === undefined) throw tooLong(host);
  return text.toString("utf8");
}

const ANSWER_BYTES_MAX = 4 << 20; // Descriptions of a hundred objects take some hundred bytes each.
const ANSWER_VALUES_MAX = 50_000;

const tooLong = (host: string) =>
  new DomainError(
    "source.unreachable",
    `${host} answers with more than 4 MiB or 50000 values about Git LFS. Check its address.`,
  );

/** Follows redirects. The headers are not sent to other hosts, nor without https. */
export async function openDownload(http: GuardedHttp, { href, headers, ...pointer }: LfsDownload): Promise<HttpAnswer> {
  let url = href;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const isOwn = new URL(url).origin === new URL(href).origin;
    const answer = await http(url, { headers: isOwn ? headers : {} });
    const { location } = answer.headers;
    if (answer.statusCode === 200) return answer;
    await answer.body.dump();
    if (answer.statusCode < 300 || answer.statusCode >= 400 || typeof location !== "string") break;
    if (!URL.canParse(location, url)) break;
    url = httpUrl(new URL(location, url).href);
  }
  throw missing(new URL(href).host, pointer);
}

/** SSH hosts return the endpoint, and a login for it, on request. */
async function lfsServerBySsh(context: GitContext, { url, credentials }: Remote): Promise<LfsServer> {
  const address = await reach(url, context.allowedPrivateHosts, context.io.signal);
  const stdout = collector(65_536);
  const shown = credentialsAt(url, credentials);
  const { exitCode, output } = await withGitSession(context.place, url, address, shown, (session) => {
    const port = url.port === null ? [] : ["-p", String(url.port)];
    const host = `${url.username}@${url.host.replace(/^\[|\]$/g, "")}`;
    const command = toShell(["git-lfs-authenticate", decodeURIComponent(url.path), "download"]);
    return run(["ssh", "-F", session.sshConfig ?? "/dev/null", ...port, "--", host, command], {
      env: session.env,
      signal: context.io.signal,
      stdout: stdout.stream,
      timeoutSeconds: 60,
    });
  });
  if (exitCode !== 0) {
    const failure = gitFailure({ url, hasCredentials: credentials !== undefined, stderr: output.split("\n") });
    if (failure.type === "error" && failure.error.code === "source.unauthorized") throw failure.error;
    const message = `${url.host} does not serve Git LFS over ssh. Use the https address of the repository.`;
    throw new DomainError("source.invalid", message, { cause: new Error(output) });
  }
  const answer = parseJson(stdout.text(), url.host);
  const href = fieldOf(answer, "href");
  if (typeof href !== "string") throw brokenOff(url.host, new Error("its answer names no address for Git LFS"));
  return { endpoint: httpUrl(href), headers: headersOf(fieldOf(answer, "header")) };
}

/** @throws DomainError `source.invalid` for addresses that are not http, or that switch from https to http. */
function httpUrl(text: string, base?: GitUrl): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && base?.scheme !== "https");
  if (url === undefined || !isAllowed || url.username !== "" || url.password !== "") {
    throw new DomainError("source.invalid", "The address of the Git LFS server is not usable. Correct .lfsconfig.");
  }
  return url.href.replace(/\/+$/, "");
}

/** The repository's login, if the endpoint has the same origin. */
function basicFor(endpoint: string, { credentials }: Remote): Record<string, string> {
  const login = credentials?.type === "basic" ? credentials.login.for(endpoint) : undefined;
  if (login === undefined) return {};
  return { authorization: `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}` };
}

function parseJson(text: string, host: string): unknown {
  if (jsonProblem(text, ANSWER_VALUES_MAX) !== undefined) throw tooLong(host);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw brokenOff(host, new Error("its answer about Git LFS is not valid", { cause }));
  }
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}

function headersOf(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, text]) => (typeof text === "string" ? [[name.toLowerCase(), text]] : [])),
  );
}

function refused(host: string, status: number): DomainError {
  if (status === 401 || status === 403) {
    return new DomainError(
      "source.unauthorized",
      `${host} does not give the files of Git LFS with this login. Check it.`,
    );
  }
  const message = `${host} does not serve Git LFS for this repository (status ${status}). Enable it there.`;
  return new DomainError(status === 404 ? "source.not_found" : "source.unreachable", message);
}

const missing = (host: string, { oid }: LfsPointer) =>
  new DomainError(
    "source.not_found",
    `${host} does not have the Git LFS object ${oid.slice(0, 12)}. Push it with git lfs push.`,
  );
