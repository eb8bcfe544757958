import { z } from "zod";
import { decodeBase64Field } from "../base64.ts";
import { DomainError, invalid } from "../errors.ts";
import { lenient } from "../input.ts";
import { ResourceName, ShortDescription } from "../name.ts";
import { OriginCredential, originOf } from "../origin-credential.ts";
import type { PrivateKeyRecord, PrivateKeySecrets, PrivateKeyUser } from "../ports/private-key.ts";
import type { BasicLogin, GitCredentials } from "../ports/source.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { formatGitUrl, parseGitUrl } from "./git-source.ts";

const KeyText = z
  .string()
  .min(1, "This field is required.")
  .max(50_000, "At most 50000 characters.")
  .describe("PEM or OpenSSH form, or base64 of it. Ed25519, RSA or ECDSA, without a passphrase.");

const basicAuthText = z.string().max(255, "At most 255 characters.").nullable();

/** Used instead of the key if a repository's URL is https. */
const BASIC_AUTH = {
  is_http_basic_auth_enabled: lenient(z.boolean().nullable())
    .optional()
    .describe("Whether repositories with an https URL are read with the name and password. Default `false`."),
  http_basic_auth_username: lenient(basicAuthText).optional(),
  http_basic_auth_password: lenient(basicAuthText).optional(),
};

export const PrivateKeyCreate = z.strictObject({
  name: ResourceName.nullable().optional().describe("Default: generated from the key's type."),
  description: ShortDescription.optional(),
  private_key: KeyText,
  ...BASIC_AUTH,
});
export type PrivateKeyCreate = z.infer<typeof PrivateKeyCreate>;

/** Omitted fields keep their values. */
export const PrivateKeyUpdate = PrivateKeyCreate.extend({
  name: ResourceName.nullable().optional().describe("Null keeps the name."),
});
export type PrivateKeyUpdate = z.infer<typeof PrivateKeyUpdate>;

export const PrivateKey = z
  .object({
    id: z.int(),
    uuid: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    private_key: z.string().optional().describe("As it was sent. Needs `read:sensitive`."),
    public_key: z.string().describe("One line, as in `authorized_keys`."),
    fingerprint: z.string().nullable().describe("SHA-256 of the public key, base64."),
    is_git_related: z.boolean().describe("An application or a git source uses it."),
    is_http_basic_auth_enabled: z
      .boolean()
      .describe("Whether repositories with an https URL are read with the name and password."),
    http_basic_auth_username: z.string().nullable(),
    http_basic_auth_password: z.string().nullable().optional().describe("Needs `read:sensitive`."),
    team_id: z.int(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "PrivateKey", description: "An SSH key, for servers and for private repositories." });
export type PrivateKey = z.infer<typeof PrivateKey>;

/** @param secrets Left out if the caller may not see them. */
export const privateKeyView = (key: PrivateKeyRecord, secrets?: PrivateKeySecrets): PrivateKey => ({
  id: key.id,
  uuid: key.uuid,
  name: key.name,
  description: key.description,
  ...(secrets && {
    private_key: secrets.private_key,
    http_basic_auth_password: secrets.http_basic_auth_password,
  }),
  public_key: key.public_key,
  fingerprint: key.fingerprint,
  is_git_related: key.is_git_related,
  is_http_basic_auth_enabled: key.is_http_basic_auth_enabled,
  http_basic_auth_username: key.http_basic_auth_username,
  team_id: key.team_id,
  created_at: timestamp(key.created_at),
  updated_at: timestamp(key.updated_at),
});

/**
 * A key's text, which may be sent in base64, with normalised line ends.
 * @throws DomainError `request.invalid`
 */
export function privateKeyText(sent: string): string {
  if (/^\s*(ssh|ecdsa|sk)-\S+ AAAA/.test(sent)) throw invalidKey("This is a public key. Send the private one.");
  const plain = sent.includes(BEGIN) ? sent : decodeBase64Field(sent.replace(/\s+/g, ""));
  if (plain === undefined || !plain.includes(BEGIN)) {
    throw invalidKey(`It must begin with ${BEGIN}, or be base64 of a text that does.`);
  }
  return `${plain.replaceAll(/\r\n?/g, "\n").trim()}\n`;
}

const BEGIN = "-----BEGIN";

/** @param problem A sentence with the problem and what to do. Must not contain any of the key. */
export const invalidKey = (problem: string) => invalid({ private_key: ["Invalid private key.", problem] });

export const keyExists = () => invalid({ private_key: ["Private key already exists."] });

/** @param users As far as known. */
export function keyInUse(users: readonly Pick<PrivateKeyUser, "kind" | "name">[]): DomainError {
  const names = users.slice(0, USERS_NAMED_MAX).map(({ kind, name }) => `${kind} ${name}`);
  const more = users.length > names.length ? [`${users.length - names.length} more`] : [];
  const details = users.length === 0 ? "Something began to use it." : `Used by ${[...names, ...more].join(", ")}.`;
  const refusal = "Private Key is in use and cannot be deleted.";
  return new DomainError("private_key.in_use", `${refusal} ${details}`, {
    fields: { _: [refusal, details] },
    details: { details },
  });
}

const USERS_NAMED_MAX = 5;

/** The origin of a repository that a key's name and password are sent to; `undefined` if they are not. */
export function loginOrigin(
  repository: string,
  key: Pick<PrivateKeyRecord, "is_http_basic_auth_enabled" | "http_basic_auth_username">,
): string | undefined {
  const url = parseGitUrl(repository);
  const isSent = url.scheme === "https" && key.is_http_basic_auth_enabled && key.http_basic_auth_username !== null;
  return isSent ? originOf(formatGitUrl(url)) : undefined;
}

/** @throws DomainError `request.invalid` if the key's name and password belong to another host. */
export function requireLoginOrigin(origin: string, { login_origins = [origin] }: PrivateKeySecrets): void {
  if (login_origins.includes(origin)) return;
  const problem =
    `The name and password of its private key are for ${login_origins.join(", ")}. ` +
    "Use another key, or send http_basic_auth_password again: it is then for the repository that uses it next.";
  throw invalid({ git_repository: [problem] });
}

/**
 * How a repository is read with a key: over https with its name and password, over ssh with the key itself. If the
 * key has no name and password, an https address is read over ssh too (`repositoryFor`).
 */
export function credentialsFor(
  repository: string,
  key: Pick<PrivateKeyRecord, "is_http_basic_auth_enabled" | "http_basic_auth_username">,
  secrets: PrivateKeySecrets,
): GitCredentials | undefined {
  const { scheme } = parseGitUrl(repository);
  const { http_basic_auth_username: username } = key;
  const { http_basic_auth_password: password } = secrets;
  const hasLogin = key.is_http_basic_auth_enabled && username !== null && password !== null;
  if (scheme === "https" && hasLogin) return basicCredentials(secrets.login_origins ?? [], { username, password });
  return scheme === "ssh" || scheme === "https" ? { type: "ssh", privateKey: secrets.ssh_key } : undefined;
}

/** @param urls Any addresses at the origins of the login. */
export const basicCredentials = (urls: readonly string[], login: BasicLogin): GitCredentials => ({
  type: "basic",
  login: new OriginCredential(urls, login),
});

/** The address of the repository for these credentials. */
export function repositoryFor(repository: string, credentials: GitCredentials | undefined): string {
  if (credentials?.type !== "ssh") return repository;
  const url = parseGitUrl(repository);
  if (url.scheme !== "https") return repository;
  return formatGitUrl({ ...url, scheme: "ssh", username: "git", password: null, port: null });
}
