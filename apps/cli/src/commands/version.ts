import { VERSION } from "@berth/core";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { restText } from "../connection/rest.ts";
import { Failure } from "../failure.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.action(bind(version));
}

async function version(session: Session): Promise<void> {
  const { output } = session;
  // Without a configured server, the client's own version is enough.
  const connection = await session.resolve().catch((error: unknown) => {
    if (error instanceof Failure) return undefined;
    throw error;
  });
  const server = connection && (await restText(connection, { method: "GET", path: "/version" }));
  output.show({ cli: VERSION, server: server ?? null }, () => {
    output.line(`berth ${VERSION}`);
    output.line(connection ? `server ${printable(server ?? "")} at ${connection.url}` : "no server");
  });
}
