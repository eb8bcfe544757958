import { TokenCreate } from "@berth/core/team";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
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
    .aliases(["delete", "rm", "remove"])
    .description("Revoke a token. It stops working at once.")
    .argument("<token>", "its name, or its number: the part of its text before the |")
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

async function revoke(session: Session, wanted: string): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const answer = await client.tokens.revoke.mutate({ id: await idOf(client, wanted) });
  output.show(answer, () => output.line(printable(answer.message)));
}

/** @throws Failure where no token, or several, are called so, or one that is not the token of that number */
async function idOf(client: Api["client"], wanted: string): Promise<number> {
  const number = /^\d{1,15}$/.test(wanted) ? Number(wanted) : undefined;
  // Who may revoke a token by its number need not be able to list them.
  const tokens = await client.tokens.list.query({}).catch((error: unknown) => {
    if (number === undefined) throw error;
    return [];
  });
  const isName = tokens.some(({ id, name }) => name === wanted && id !== number);
  if (number !== undefined && !isName) return number;
  if (tokens.some(({ id }) => id === number))
    throw usage(`${wanted} is the number of one token and the name of another.`, ["Name that one by its number."]);
  return choose(
    wanted,
    tokens.map(({ id, name }) => ({ id, name, uuid: String(id) })),
    { thing: "token", id: "number" },
  ).id;
}
