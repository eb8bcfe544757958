import { z } from "zod";
import { shownStatus } from "../deploy/shown-status.ts";
import type { PreviewRecord } from "../ports/preview.ts";
import type { ApplicationRecord, DomainClaim } from "../ports/records.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { PlainTimestamp, plainTimestamp, Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { parseDomainUrl, splitUrls } from "./domain.ts";

const text = z.string();
const textOrNull = z.string().nullable();

export const ApplicationPreview = z
  .object({
    id: z.int(),
    uuid: text,
    application_id: z.int(),
    pull_request_id: z.int(),
    pull_request_html_url: text,
    pull_request_issue_comment_id: textOrNull,
    fqdn: textOrNull.describe("Its URL."),
    urls: z.array(text).describe("Its URL for a browser, with the proxy's port unless it is the default one."),
    status: text.describe("`state:health`, e.g. `running:healthy` or `exited:unhealthy`."),
    git_type: textOrNull,
    docker_compose_domains: textOrNull,
    docker_registry_image_tag: textOrNull,
    last_online_at: PlainTimestamp,
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
    deleted_at: Timestamp.nullable(),
  })
  .meta({ id: "ApplicationPreview", description: "The preview of a pull request of an application." });
export type ApplicationPreview = z.infer<typeof ApplicationPreview>;

/** @param publicUrl Adds the port of the server's proxy to a URL. */
export function previewView(preview: PreviewRecord, publicUrl: (url: string) => string): ApplicationPreview {
  return {
    id: preview.id,
    uuid: preview.uuid,
    application_id: preview.resource_id,
    pull_request_id: preview.pull_request_id,
    pull_request_html_url: preview.pull_request_html_url,
    pull_request_issue_comment_id: null,
    fqdn: preview.fqdn,
    urls: splitUrls(preview.fqdn).map(publicUrl),
    status: shownStatus(preview),
    git_type: preview.git_type,
    docker_compose_domains: null,
    docker_registry_image_tag: preview.docker_registry_image_tag,
    last_online_at: plainTimestamp(preview.last_online_at ?? preview.created_at),
    created_at: timestamp(preview.created_at),
    updated_at: timestamp(preview.updated_at),
    deleted_at: timestampOrNull(preview.removing_at),
  };
}

/**
 * Why a pull request of an application cannot be deployed; `undefined` when it can.
 * @param imageTag For an application made from an image: the tag of the pull request's own build.
 */
export function previewRefusal(
  { name, source, settings }: Pick<ApplicationRecord, "name" | "source" | "settings">,
  pullRequestId: number,
  imageTag: string | null | undefined,
): string | undefined {
  if (source !== "git" && source !== "image")
    return `Application ${name} has no pull requests: its source is ${source}.`;
  if (!settings.is_preview_deployments_enabled) {
    return `Application ${name} has no preview of pull request ${pullRequestId}: is_preview_deployments_enabled is off.`;
  }
  if (source === "git" || imageTag) return undefined;
  return `Application ${name} is made from an image: name that of pull request ${pullRequestId} with docker_tag.`;
}

export interface PreviewUrlRequest {
  readonly template: string;
  /** URLs of the application; the preview's URL is made from the first one. */
  readonly fqdn: string | null;
  readonly pullRequestId: number;
  /** Lower-case letters and digits. */
  readonly random: string;
}

/**
 * The URL of a preview: the URL of the application with the template in place of its host. `undefined` when the
 * application has no URL, or one whose host cannot be part of a name, such as an IP address.
 */
export function previewClaim({ template, fqdn, pullRequestId, random }: PreviewUrlRequest): DomainClaim | undefined {
  const [first] = splitUrls(fqdn);
  const own = first === undefined ? undefined : parseDomainUrl(first);
  if (first === undefined || own === undefined || "problem" in own) return undefined;
  const { 1: scheme = "", 2: port = "", 3: path = "" } = /^(https?):\/\/[^/?#]*?(:\d+)?(\/.*)?$/.exec(first) ?? [];
  const host = filled(template, { pr_id: String(pullRequestId), domain: own.claim.host, random });
  if (host === undefined) return undefined;
  const read = parseDomainUrl(`${scheme}://${host}${port}${path}`);
  return "claim" in read ? read.claim : undefined;
}

/** Problems of a template, as sentences. */
export function previewTemplateProblems(template: string): readonly string[] {
  const sample = { pr_id: "1", domain: "app.example.com", random: "a1b2c3d4" };
  const host = filled(template, sample);
  const isHost = host !== undefined && "claim" in parseDomainUrl(`http://${host}`);
  if (!isHost) return ["Must be a host name after {{pr_id}}, {{domain}} and {{random}} are replaced."];
  if (filled(template, { ...sample, pr_id: "2", random: "e5f6g7h8" }) !== host) return [];
  return ["Must contain {{pr_id}} or {{random}}, since each pull request needs its own host."];
}

function filled(template: string, values: Readonly<Record<string, string>>): string | undefined {
  const host = template.trim().replace(/\{\{\s*(\w+)\s*\}\}/g, (token, name: string) => values[name] ?? token);
  return /^[A-Za-z0-9._-]+$/.test(host) ? host.toLowerCase() : undefined;
}

/** The name of a preview's objects; the application's are named by its uuid. */
export const previewName = (applicationUuid: string, pullRequestId: number): string =>
  `${applicationUuid}${previewSuffix(pullRequestId)}`;

const previewSuffix = (pullRequestId: number) => `-pr-${pullRequestId}`;

type Suffixed = Pick<StorageRecord, "uuid" | "name" | "host_path" | "is_preview_suffix_enabled">;

/** The storage that a deployment uses: a preview has its own unless the storage is shared with previews. */
export function storageOf<S extends Suffixed>(storage: S, pullRequestId: number): S {
  if (!isOwnOfPreview(storage, pullRequestId)) return storage;
  const suffixed = (text: string | null) => text && `${text}${previewSuffix(pullRequestId)}`;
  const { uuid, name, host_path } = storage;
  return {
    ...storage,
    uuid: `${uuid}${previewSuffix(pullRequestId)}`,
    name: suffixed(name),
    host_path: suffixed(host_path),
  };
}

export const isOwnOfPreview = (
  storage: Pick<StorageRecord, "is_preview_suffix_enabled">,
  pullRequestId: number,
): boolean => pullRequestId !== 0 && storage.is_preview_suffix_enabled;

/**
 * The ref of a pull request's head; `undefined` for hosts that have no such ref: there its commits are in a branch.
 *
 * @param gitType Kind of the host, if known; else it is derived from the host's name.
 */
export function pullRequestRef(gitType: string | null, repository: string, pullRequestId: number): string | undefined {
  const type = gitType ?? guessedType(repository);
  if (type === "bitbucket") return undefined;
  return type === "gitlab" ? `refs/merge-requests/${pullRequestId}/head` : `refs/pull/${pullRequestId}/head`;
}

function guessedType(repository: string): string | undefined {
  const host = /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^/:]+)/i.exec(repository)?.[1]?.toLowerCase() ?? "";
  return ["gitlab", "bitbucket"].find((name) => host.split(/[.-]/).includes(name));
}
