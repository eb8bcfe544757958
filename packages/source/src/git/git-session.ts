import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError, originOf } from "@berth/core";
import type { BasicLogin, GitCredentials } from "@berth/core/ports";
import { formatGitUrl, type GitUrl } from "@berth/core/source";
import type { ReachedAddress } from "./address.ts";
import { removeLeftovers } from "./leftovers.ts";

/** Everything that git needs to contact one repository's server; other settings of this machine are not used. */
export interface GitSession {
  /** git's whole environment. Contains paths of secrets, but no secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Arguments in front of git's command. */
  readonly config: readonly string[];
  /** The address to pass to git. */
  readonly remote: string;
  /** Configuration file for ssh, for repositories that are reached by it. */
  readonly sshConfig: string | undefined;
}

export interface SessionPlace {
  /** Folder of the fetcher, with `tmp` and `known_hosts`. */
  readonly folder: string;
  /** PATH in which git and ssh are looked up. */
  readonly path: string;
}

/**
 * Creates the files that all sessions need, and removes logins and keys left by a killed process. Idempotent.
 * @param sessionSeconds Longest duration of a session.
 */
export async function prepareSessions({ folder }: SessionPlace, sessionSeconds: number): Promise<void> {
  await mkdir(join(folder, "tmp"), { recursive: true, mode: 0o700 });
  await removeLeftovers(join(folder, "tmp"), "git-", sessionSeconds);
  // Created here with a private mode, since ssh would make it readable for all.
  await writeFile(join(folder, "known_hosts"), "", { mode: 0o600, flag: "a" });
  await writeFile(join(folder, "gitconfig"), GLOBAL_CONFIG, { mode: 0o600 });
}

/** Credentials to send to the server of one address. */
export type SentCredentials =
  | { readonly type: "ssh"; readonly privateKey: string }
  | ({ readonly type: "basic" } & BasicLogin);

/**
 * @returns `undefined` for a login of another origin, even if the own server redirects git there.
 * @throws DomainError `source.unauthorized` for a login that would be sent unencrypted.
 */
export function credentialsAt(url: GitUrl, credentials: GitCredentials | undefined): SentCredentials | undefined {
  if (credentials?.type !== "basic") return credentials;
  const address = formatGitUrl(url);
  const login = credentials.login.for(address);
  if (login !== undefined) return { type: "basic", ...login };
  if (url.scheme !== "http" || !credentials.login.origins.includes(originOf(address))) return undefined;
  throw new DomainError(
    "source.unauthorized",
    `Berth sends no login over plain http, where others can read it: ${url.host}. Use an https address.`,
  );
}

/**
 * Writes the credentials into files of mode 0600 while `work` runs.
 * @throws DomainError `source.invalid` for credentials that cannot be used with the address.
 */
export async function withGitSession<Result>(
  place: SessionPlace,
  url: GitUrl,
  address: ReachedAddress | undefined,
  credentials: SentCredentials | undefined,
  work: (session: GitSession) => Promise<Result>,
): Promise<Result> {
  checkCredentials(url, credentials);
  const folder = await mkdtemp(join(place.folder, "tmp", "git-"));
  try {
    const isSsh = url.scheme === "ssh";
    if (isSsh) await writeSshFiles(folder, place, url, address, credentials);
    if (credentials?.type === "basic") await writeAskpass(folder, credentials);
    return await work({
      env: environment(folder, place, url, credentials),
      config: configArguments(url, address),
      remote: formatGitUrl(url.scheme === "git" && address?.isNamed ? { ...url, host: inUrl(address.address) } : url),
      sshConfig: isSsh ? join(folder, "ssh_config") : undefined,
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Settings that no other configuration may override. Redirects are followed by us, and each is checked.
 * @returns `-c name=value` for git.
 */
export function configArguments(url: GitUrl | undefined, address: ReachedAddress | undefined): string[] {
  const settings = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "http.followRedirects=false",
    // A transfer slower than 1,000 bytes a second for a minute has stalled.
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "transfer.unpackLimit=1",
    "fetch.recurseSubmodules=false",
    "fetch.showForcedUpdates=false",
    // Otherwise git leaves a maintenance process running.
    "gc.autoDetach=false",
    "maintenance.autoDetach=false",
    "ssh.variant=ssh",
  ];
  if ((url?.scheme === "https" || url?.scheme === "http") && address?.isNamed) {
    const port = url.port ?? (url.scheme === "https" ? 443 : 80);
    settings.push(`http.curloptResolve=${url.host}:${port}:${inUrl(address.address)}`);
  }
  return settings.flatMap((setting) => ["-c", setting]);
}

function environment(
  folder: string,
  place: SessionPlace,
  url: GitUrl,
  credentials: SentCredentials | undefined,
): Record<string, string> {
  return {
    ...localGitEnvironment(place),
    GIT_ALLOW_PROTOCOL: url.scheme,
    ...(url.scheme === "git" ? { GIT_OVERRIDE_VIRTUAL_HOST: hostAndPort(url) } : {}),
    ...(credentials?.type === "basic"
      ? { GIT_ASKPASS: join(folder, "askpass"), BERTH_GIT_FOLDER: folder, BERTH_GIT_ORIGIN: hostAndPort(url) }
      : {}),
    ...(url.scheme === "ssh"
      ? { GIT_SSH_COMMAND: 'exec ssh -F "$BERTH_SSH_CONFIG"', BERTH_SSH_CONFIG: join(folder, "ssh_config") }
      : {}),
  };
}

/** Environment of git commands without network. */
export const localGitEnvironment = (place: SessionPlace): Record<string, string> => ({
  PATH: place.path,
  // Ignores .netrc, .ssh and .config of the user who runs Berth.
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: join(place.folder, "gitconfig"),
  GIT_TERMINAL_PROMPT: "0",
  GIT_ALLOW_PROTOCOL: "",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_NO_LAZY_FETCH: "1",
});

/** Configuration for ssh: it uses only our key and known hosts, and never prompts. */
export function sshConfigText(options: {
  readonly knownHostsFile: string;
  readonly keyFile: string | undefined;
  readonly host: string;
  readonly alias: string;
  readonly address: string | undefined;
}): string {
  const { knownHostsFile, keyFile, host, alias, address } = options;
  const pin = address === undefined ? [] : [`Host ${host}`, `  HostName ${address}`, `  HostKeyAlias ${alias}`];
  return [
    ...pin,
    "Host *",
    `  IdentityFile ${keyFile === undefined ? "none" : quoted(keyFile)}`,
    "  IdentitiesOnly yes",
    "  IdentityAgent none",
    "  BatchMode yes",
    "  PreferredAuthentications publickey",
    "  StrictHostKeyChecking accept-new",
    `  UserKnownHostsFile ${quoted(knownHostsFile)}`,
    "  GlobalKnownHostsFile /dev/null",
    "  UpdateHostKeys no",
    "  CheckHostIP no",
    "  ClearAllForwardings yes",
    "  PermitLocalCommand no",
    "  ControlPath none",
    "  ConnectTimeout 15",
    "  ServerAliveInterval 15",
    "  ServerAliveCountMax 4",
    "",
  ].join("\n");
}

async function writeSshFiles(
  folder: string,
  place: SessionPlace,
  url: GitUrl,
  address: ReachedAddress | undefined,
  credentials: SentCredentials | undefined,
): Promise<void> {
  const keyFile = credentials?.type === "ssh" ? join(folder, "key") : undefined;
  if (keyFile !== undefined && credentials?.type === "ssh") {
    const key = credentials.privateKey.replaceAll("\r\n", "\n").trim();
    await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
  }
  const text = sshConfigText({
    knownHostsFile: join(place.folder, "known_hosts"),
    keyFile,
    host: url.host.replace(/^\[|\]$/g, ""),
    alias: url.port === null ? url.host : `[${url.host.replace(/^\[|\]$/g, "")}]:${url.port}`,
    address: address?.isNamed ? address.address : undefined,
  });
  await writeFile(join(folder, "ssh_config"), text, { mode: 0o600 });
}

async function writeAskpass(folder: string, credentials: BasicLogin): Promise<void> {
  await writeFile(join(folder, "username"), credentials.username, { mode: 0o600 });
  await writeFile(join(folder, "password"), credentials.password, { mode: 0o600 });
  await writeFile(join(folder, "askpass"), ASKPASS, { mode: 0o700 });
  await chmod(join(folder, "askpass"), 0o700);
}

function checkCredentials(url: GitUrl, credentials: SentCredentials | undefined): void {
  if (credentials?.type !== "basic") return;
  // git's protocol with the askpass program is line-based.
  if (!/[\r\n\0]/.test(credentials.username + credentials.password)) return;
  throw new DomainError(
    "source.invalid",
    `The login for ${url.host} contains a line break. Enter the user name and the password or token again.`,
  );
}

const hostAndPort = ({ host, port }: GitUrl) => (port === null ? host : `${host}:${port}`);

const inUrl = (address: string) => (address.includes(":") ? `[${address}]` : address);

// ssh expands % and splits at spaces, so both are escaped.
const quoted = (file: string) => `"${file.replaceAll("%", "%%").replaceAll('"', "")}"`;

// A repository on this machine often has another owner. Nothing in it is executed.
const GLOBAL_CONFIG = "[safe]\n\tdirectory = *\n";

// Answers only for its own host: git also asks for hosts that a repository or redirect names.
const ASKPASS = `#!/bin/sh
case "$1" in
  "Username for 'https://$BERTH_GIT_ORIGIN'"*|"Username for 'http://$BERTH_GIT_ORIGIN'"*) cat "$BERTH_GIT_FOLDER/username" ;;
  "Password for 'https://"*"@$BERTH_GIT_ORIGIN'"*|"Password for 'http://"*"@$BERTH_GIT_ORIGIN'"*) cat "$BERTH_GIT_FOLDER/password" ;;
  *) exit 1 ;;
esac
`;
