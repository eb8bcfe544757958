import type { createClient } from "@berth/client";
import type { Connection } from "./resolve.ts";

export type Client = ReturnType<typeof createClient>;

/** A server's connection and its client. */
export interface Api {
  readonly connection: Connection;
  readonly client: Client;
}

/** Loads the client only when a command needs it, so that `--help` and the like are fast. */
export async function openApi(connection: Connection): Promise<Api> {
  const { createClient } = await import("@berth/client");
  return { connection, client: createClient({ url: connection.url, token: connection.token }) };
}
