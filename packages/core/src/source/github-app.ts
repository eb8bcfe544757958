import { z } from "zod";
import { isPlainHttpUrl, PLAIN_HTTP_URL_PROBLEM } from "../application/http-url.ts";
import { invalid } from "../errors.ts";
import { lenient } from "../input.ts";
import { ResourceName } from "../name.ts";
import { OriginCredential, originOf } from "../origin-credential.ts";
import type { GitHostLogin } from "../ports/git-host.ts";
import type { GithubAppFields, GithubAppRecord, GithubAppSecrets } from "../ports/github-app.ts";
import type { PrivateKeySecrets } from "../ports/private-key.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { HostedBranch, HostedRepository } from "./hosted-repository.ts";

/** A site or API that Berth calls: http or https, without query or fragment. */
const HostUrl = z
  .string()
  .trim()
  .max(2048, "At most 2048 characters.")
  .refine(isPlainHttpUrl, PLAIN_HTTP_URL_PROBLEM)
  .transform((url) => url.replace(/\/+$/, ""));

const Organization = lenient(
  z
    .string()
    .max(255, "At most 255 characters.")
    .regex(/^[^\s/?#]+$/, "Must be the name as it appears in GitHub URLs.")
    .nullable(),
);
const filled = z.string().min(1, "This field is required.");
const number = lenient(z.int().min(1).max(Number.MAX_SAFE_INTEGER));
const port = lenient(z.int().min(1).max(65535));

const FIELDS = {
  name: ResourceName.describe("Shown in lists."),
  organization: Organization.optional().describe("Organization that owns it; none for a person's app."),
  html_url: HostUrl.describe("The site, e.g. https://github.com."),
  custom_user: filled.max(255).describe("Login of SSH. Default git."),
  custom_port: port.describe("Port of SSH. Default 22."),
  app_id: number.describe("Its number at GitHub."),
  installation_id: number.describe("Number of its installation in the organization or account."),
  client_id: filled.max(255),
  client_secret: filled.max(1000).describe("Stored encrypted and never returned."),
  webhook_secret: filled
    .max(1000)
    .describe("The secret that GitHub signs its deliveries to /webhooks/source/github/events with. Never returned."),
  private_key_uuid: filled.max(255).describe("Private key of the team with the app's RSA key."),
  is_system_wide: lenient(z.boolean()).describe("Stored and returned, without effect: other teams cannot use it."),
};

const API_URL = "The REST API. Default: https://api.github.com, or /api/v3 of an enterprise's own site.";

export const GithubAppCreate = z.strictObject({
  ...FIELDS,
  api_url: HostUrl.nullable().optional().describe(API_URL),
  custom_user: FIELDS.custom_user.nullable().optional(),
  custom_port: FIELDS.custom_port.nullable().optional(),
  is_system_wide: FIELDS.is_system_wide.optional(),
});
export type GithubAppCreate = z.infer<typeof GithubAppCreate>;

/** Omitted fields keep their values. */
export const GithubAppUpdate = z.strictObject({ ...FIELDS, api_url: HostUrl.describe(API_URL) }).partial();
export type GithubAppUpdate = z.infer<typeof GithubAppUpdate>;

export const GithubApp = z
  .object({
    id: z.int(),
    uuid: z.string().describe("RFC 4122."),
    name: z.string(),
    organization: z.string().nullable(),
    api_url: z.string(),
    html_url: z.string(),
    custom_user: z.string(),
    custom_port: z.int(),
    app_id: z.int().nullable(),
    installation_id: z.int().nullable(),
    client_id: z.string().nullable(),
    is_system_wide: z.boolean(),
    is_public: z.boolean(),
    private_key_id: z.int().nullable(),
    team_id: z.int(),
    contents: z.string().nullable(),
    metadata: z.string().nullable(),
    pull_requests: z.string().nullable(),
    administration: z.string().nullable(),
    type: z.literal("github"),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({
    id: "GithubApp",
    description: "An app at GitHub that gives access to repositories. Its secrets are never returned.",
  });
export type GithubApp = z.infer<typeof GithubApp>;

export const GithubAppChanged = z
  .object({ message: z.string(), data: GithubApp })
  .meta({ id: "GithubAppChanged", description: "A GitHub app after a change." });
export type GithubAppChanged = z.infer<typeof GithubAppChanged>;

export const HostedRepositories = z
  .object({ repositories: z.array(HostedRepository) })
  .meta({ id: "HostedRepositories", description: "The repositories that an app may read." });
export const HostedBranches = z
  .object({ branches: z.array(HostedBranch) })
  .meta({ id: "HostedBranches", description: "The branches of a repository." });

export const githubAppView = (app: GithubAppRecord): GithubApp => ({
  id: app.id,
  uuid: app.uuid,
  name: app.name,
  organization: app.organization,
  api_url: app.api_url,
  html_url: app.html_url,
  custom_user: app.custom_user,
  custom_port: app.custom_port,
  app_id: app.app_id,
  installation_id: app.installation_id,
  client_id: app.client_id,
  is_system_wide: app.is_system_wide,
  is_public: false,
  private_key_id: app.private_key_id,
  team_id: app.team_id,
  // Permission levels are managed at GitHub only.
  contents: null,
  metadata: null,
  pull_requests: null,
  administration: null,
  type: "github",
  created_at: timestamp(app.created_at),
  updated_at: timestamp(app.updated_at),
});

/** @param key The app's key. */
export const githubLogin = (
  { api_url, app_id, installation_id }: GithubAppRecord,
  key: Pick<PrivateKeySecrets, "ssh_key" | "app_origins">,
): GitHostLogin => ({
  apiUrl: api_url,
  appId: app_id,
  installationId: installation_id,
  // RSA keys are stored in PKCS #1, whatever format was sent.
  privateKey: new OriginCredential(key.app_origins ?? [], key.ssh_key),
});

/** Origins where an app authenticates and uses its tokens. */
export const appOrigins = ({ api_url, html_url }: Pick<GithubAppRecord, "api_url" | "html_url">): readonly string[] => [
  ...new Set([originOf(api_url), originOf(html_url)]),
];

/** @throws DomainError `request.invalid` if the key authenticates as an app at another host. */
export function requireAppOrigins(
  app: Pick<GithubAppRecord, "api_url" | "html_url">,
  { app_origins }: PrivateKeySecrets,
): void {
  const isForeign = (url: string) => app_origins !== undefined && !app_origins.includes(originOf(url));
  const problem =
    `Its private key is for ${app_origins?.join(" and ")}. Send private_key_uuid of another key, ` +
    "or send this key again in PATCH /security/keys/{uuid}: it is then for the app that uses it next.";
  const fields = Object.entries({ api_url: app.api_url, html_url: app.html_url }).filter(([, url]) => isForeign(url));
  if (fields.length > 0) throw invalid(Object.fromEntries(fields.map(([field]) => [field, [problem]])));
}

/** @param privateKeyId Id of the key that `private_key_uuid` names. */
export function newGithubApp(
  sent: GithubAppCreate,
  privateKeyId: number,
): { readonly fields: GithubAppFields; readonly secrets: GithubAppSecrets } {
  return {
    fields: {
      name: sent.name,
      organization: sent.organization ?? null,
      html_url: sent.html_url,
      api_url: sent.api_url ?? defaultApiUrl(sent.html_url),
      custom_user: sent.custom_user ?? "git",
      custom_port: sent.custom_port ?? 22,
      app_id: sent.app_id,
      installation_id: sent.installation_id,
      client_id: sent.client_id,
      is_system_wide: sent.is_system_wide ?? false,
      private_key_id: privateKeyId,
    },
    secrets: { client_secret: sent.client_secret, webhook_secret: sent.webhook_secret },
  };
}

/** @param privateKeyId Id of the key that `private_key_uuid` names, if it was sent. */
export function githubAppChange(
  { client_secret, webhook_secret, private_key_uuid: _uuid, ...fields }: GithubAppUpdate,
  privateKeyId: number | undefined,
): { readonly fields: Partial<GithubAppFields>; readonly secrets: Partial<GithubAppSecrets> } {
  const key = privateKeyId === undefined ? {} : { private_key_id: privateKeyId };
  return {
    fields: given({ ...fields, ...key }),
    secrets: given({ client_secret, webhook_secret }),
  };
}

/** The default API address of GitHub and GitHub Enterprise. */
export const defaultApiUrl = (htmlUrl: string): string =>
  new URL(htmlUrl).hostname === "github.com" ? "https://api.github.com" : `${htmlUrl}/api/v3`;

function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  // Only fields that were not sent are dropped; the rest keeps its type.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
