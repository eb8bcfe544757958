import type { Command } from "commander";
import { cell } from "../output.ts";
import type { Bind } from "../program.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.action(bind(list));
}

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { colors } = output;
  const { client } = await session.connect();
  const servers = await client.servers.list.query({});
  output.show(servers, () =>
    output.table(
      ["NAME", "ADDRESS", "USABLE", "UUID"],
      servers.map(({ name, ip, uuid, settings }) => [
        cell(name),
        cell(ip),
        settings.is_usable ? colors.green("yes") : colors.red("no"),
        cell(uuid),
      ]),
    ),
  );
}
