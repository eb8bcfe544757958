import { type Api, openApi } from "./connection/api.ts";
import { type Connection, resolveConnection } from "./connection/resolve.ts";
import type { Output } from "./output.ts";
import type { System } from "./system.ts";

/** One run of one command. */
export interface Session {
  readonly system: System;
  readonly output: Output;
  /** Finds out which server to talk to, and opens a client. Not before it is needed: some commands need none. */
  connect(): Promise<Api>;
  /** The same without a client. */
  resolve(): Promise<Connection>;
  /** The connection that was found, for error messages. */
  connection(): Connection | undefined;
  /** For a command that finds its server by itself. */
  use(connection: Connection): void;
}

export function session(system: System, output: Output, contextName: string | undefined): Session {
  let connection: Connection | undefined;
  const resolve = async () => {
    const isFirst = connection === undefined;
    connection = await resolveConnection(system, contextName);
    if (isFirst && connection.note !== undefined) system.stderr.write(`${connection.note}\n`);
    return connection;
  };
  return {
    system,
    output,
    connection: () => connection,
    use: (found) => {
      connection = found;
    },
    resolve,
    connect: async () => openApi(await resolve()),
  };
}
