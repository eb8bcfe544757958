/** The result of a delivery for one application. */
export interface WebhookResult {
  readonly status: "success" | "queued" | "skipped" | "failed";
  readonly message: string;
  readonly application?: string;
  readonly application_uuid?: string;
  readonly application_name?: string;
  readonly deployment_uuid?: string;
  readonly pull_request_id?: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

export type WebhookAnswer = readonly WebhookResult[];
