import type { DomainClaim, Page, Paging, Timestamps } from "./records.ts";

/** The preview of a pull request of an application. */
export interface PreviewRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  /** Id of the application. */
  readonly resource_id: number;
  readonly pull_request_id: number;
  /** Empty if unknown. */
  readonly pull_request_html_url: string;
  readonly fqdn: string | null;
  /** `state:health`, as last observed. */
  readonly status: string;
  /** Kind of git host: `github`, `gitlab`, `gitea`, `bitbucket`. */
  readonly git_type: string | null;
  /** Tag that the preview runs, if the application is made from an image. */
  readonly docker_registry_image_tag: string | null;
  readonly last_online_at: Date | null;
  /** Set when deletion was requested; the row is deleted after the removal. */
  readonly removing_at: Date | null;
  /** It was opened while it is being removed. */
  readonly is_reopened: boolean;
}

/** Fields of a preview. Omitted fields keep their values. */
export interface PreviewFields {
  readonly pull_request_id: number;
  readonly pull_request_html_url?: string | undefined;
  readonly git_type?: string | undefined;
  readonly docker_registry_image_tag?: string | undefined;
}

export interface PreviewStore {
  /** Sorted by id. */
  list(applicationId: number, paging?: Paging): Promise<Page<PreviewRecord>>;
  find(applicationId: number, pullRequestId: number): Promise<PreviewRecord | undefined>;
  /**
   * The preview with these fields, created if missing; it cannot be removed before the transaction ends. A preview that is
   * being removed is opened again after that: what is queued of it until then waits.
   *
   * @param uuid For a new preview.
   */
  open(applicationId: number, uuid: string, fields: PreviewFields): Promise<PreviewRecord>;
  /**
   * Marks it for removal and wakes the workers. `undefined` if it was marked before and not opened since, or does not
   * exist.
   */
  markRemoving(applicationId: number, pullRequestId: number): Promise<PreviewRecord | undefined>;
}

/** With its URL claims, for its route. */
export interface RoutedPreview extends PreviewRecord {
  readonly domains: readonly DomainClaim[];
}

/** The worker's store of previews, across teams. */
export interface SystemPreviewStore {
  find(applicationId: number, pullRequestId: number): Promise<RoutedPreview | undefined>;
  /** Previews of several applications, sorted by id. */
  listByResources(resourceIds: readonly number[]): Promise<readonly RoutedPreview[]>;
  listByApplication(applicationId: number): Promise<readonly RoutedPreview[]>;
  setStatus(id: number, status: string): Promise<void>;
  /** Removes the row and its claims, and writes its event. One that was opened meanwhile stays, as a new one would be. */
  delete(id: number): Promise<void>;
}
