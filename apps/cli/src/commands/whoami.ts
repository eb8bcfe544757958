import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { cell } from "../output.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command.action(bind(show));
}

async function show(session: Session): Promise<void> {
  const { output } = session;
  const { client, connection } = await session.connect();
  const [team, tokens] = await Promise.all([client.teams.current.query(), client.tokens.list.query({})]);
  // Tokens have the form `id|secret`; the id is needed to find this one.
  const [id] = connection.token.split("|");
  const token = tokens.find((each) => String(each.id) === id);
  output.show({ url: connection.url, team, token: token ?? null }, () =>
    output.details([
      ["Server", cell(connection.url)],
      ["Team", cell(`${team.name} (${team.id})`)],
      ["Token", cell(token?.name)],
      ["Abilities", cell(token?.abilities.join(", "))],
    ]),
  );
}
