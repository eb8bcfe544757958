import type { createClient } from "@berth/client";
import type { Connection } from "./resolve.ts";

export type Client = ReturnType<typeof createClient>;

/** A server to talk to, and the client for it. */
export interface Api {
  readonly connection: Connection;
  readonly client: Client;
}

/** The client is loaded only when a command needs it: `--help` and the like answer sooner. */
export async function openApi(connection: Connection): Promise<Api> {
  const { createClient } = await import("@berth/client");
  return { connection, client: createClient({ url: connection.url, token: connection.token }) };
}
