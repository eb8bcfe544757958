import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { cell } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  defineTemplates(command, bind);
}

export const defineTemplates = (command: Command, bind: Bind): void =>
  void command
    .description("List the one-click services.")
    .command("list", { isDefault: true })
    .description("List the one-click services.")
    .option("--search <words>", "only those whose type, slogan, category or tags contain all of these words")
    .action(bind(list));

async function list(session: Session, { search }: { readonly search?: string }): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const templates = await client.services.templates.query(search === undefined ? {} : { search });
  output.show(templates, () => {
    if (templates.length === 0) return output.line(`No one-click service matches ${printable(search ?? "")}.`);
    const typeWidth = Math.max(...templates.map(({ type }) => type.length));
    const room = Math.min(output.columns, WIDTH_MAX) - typeWidth - GAP;
    output.table(
      ["TYPE", "WHAT IT IS"],
      templates.map(({ type, slogan }) => [cell(type), shortened(cell(slogan), room)]),
    );
    output.line("\nCreate one with: berth service create TYPE. More about each: add --json");
  });
}

/** Longer lines are hard to read. */
const WIDTH_MAX = 120;
/** Spaces between two columns. */
const GAP = 2;

const shortened = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
