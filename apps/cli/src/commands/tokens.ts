import { TokenCreate } from "@berth/core/team";
import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { ago } from "../format.ts";
import { cell } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

const FLAGS = flagsFor(TokenCreate.omit({ name: true }));

export function define(command: Command, bind: Bind): void {
  command.command("list", { isDefault: true }).description("List the team's tokens.").action(bind(list));
  const create = command.command("create").description("Create a token. Its text is shown once.").argument("<name>");
  addFlags(create, FLAGS, "What it may:");
  create.action(bind(createToken));
  command
    .command("revoke")
    .description("Revoke a token. It stops working at once.")
    .argument("<id>", "its number: the part of its text before the |")
    .action(bind(revoke));
}

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const tokens = await client.tokens.list.query({});
  const now = new Date();
  output.show(tokens, () =>
    output.table(
      ["ID", "NAME", "ABILITIES", "LAST USED", "EXPIRES"],
      tokens.map(({ id, name, abilities, last_used_at, expires_at }) => [
        String(id),
        cell(name),
        cell(abilities.join(", ")),
        ago(last_used_at, now),
        cell(expires_at ?? "never"),
      ]),
    ),
  );
}

async function createToken(session: Session, name: string, options: Record<string, unknown>): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  // The flags come from the schema without its name; the server validates the values.
  const token = await client.tokens.create.mutate({ name, ...(valuesOf(FLAGS, options) as Omit<TokenCreate, "name">) });
  output.show(token, () => {
    output.line(printable(token.token));
    output.warn("Keep it now: it is not shown again.");
  });
}

async function revoke(session: Session, id: string): Promise<void> {
  const { output } = session;
  if (!/^\d{1,15}$/.test(id)) throw usage(`"${printable(id)}" is not the number of a token. berth tokens lists them.`);
  const { client } = await session.connect();
  const answer = await client.tokens.revoke.mutate({ id: Number(id) });
  output.show(answer, () => output.line(printable(answer.message)));
}
