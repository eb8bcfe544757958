import { type Api, openApi } from "./connection/api.ts";
import { type Connection, resolveConnection } from "./connection/resolve.ts";
import type { Output } from "./output.ts";
import type { System } from "./system.ts";

/** One run of one command. */
export interface Session {
  /** What was typed after the program's name. */
  readonly argv: readonly string[];
  readonly system: System;
  readonly output: Output;
  /** Selects the server and opens a client. Called only when needed, since some commands need no server. */
  connect(): Promise<Api>;
  /** Selects the server without opening a client. */
  resolve(): Promise<Connection>;
  /** The selected connection, for error messages. */
  connection(): Connection | undefined;
  /** Sets the connection of a command that selects its server by itself. */
  use(connection: Connection): void;
}

export function session(
  argv: readonly string[],
  system: System,
  output: Output,
  contextName: string | undefined,
): Session {
  let connection: Connection | undefined;
  const resolve = async () => {
    const isFirst = connection === undefined;
    connection = await resolveConnection(system, contextName);
    if (isFirst && connection.note !== undefined) system.stderr.write(`${connection.note}\n`);
    return connection;
  };
  return {
    argv,
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
