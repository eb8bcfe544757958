/** Where releases of a resource are: a server may have several of them, but only its own ones matter to it. */
export interface ServerPart {
  readonly resource_id: number;
  readonly server_id: number;
}

/** Identifies a live release: a resource or preview has at most one on each server. Deployments have these fields too. */
export interface LiveKey extends ServerPart {
  readonly pull_request_id: number;
}

/** The key of a resource's live release on the server that is recorded with it. */
export const liveKeyOf = (
  { id, server_id }: { readonly id: number; readonly server_id: number },
  pull_request_id = 0,
): LiveKey => ({ resource_id: id, server_id, pull_request_id });
