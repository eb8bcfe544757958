import { ROLES, type Role } from "@berth/core/team";
import { type Command, Option } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, Failure, usage } from "../failure.ts";
import { cell } from "../output.ts";
import { printable } from "../printable.ts";
import { requireYes } from "../prompt.ts";
import type { Session } from "../session.ts";
import { showLink } from "../sign-in-link.ts";

export function define(command: Command, bind: Bind): void {
  command
    .command("list", { isDefault: true })
    .description("List the users of the team, and their roles.")
    .action(bind(list));
  command
    .command("invite")
    .description("Add a user to the team, and make a link that signs them in.")
    .argument("<email>", "their address")
    .addOption(new Option("--role <role>", "what they may do").choices(ROLES).default("member"))
    .action(bind(invite));
  command
    .command("remove")
    .alias("rm")
    .description("Remove a user from the team. Their tokens of the team stop working at once.")
    .argument("<email>", "their address")
    .option("--yes", "do not ask")
    .action(bind(remove));
  command
    .command("reset-second-factor")
    .description("Take the second factor away from a user of the team who lost it.")
    .argument("<email>", "their address")
    .action(bind(resetSecondFactor));
}

async function list(session: Session): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const { id } = await client.teams.current.query();
  const members = await client.teams.members.list.query({ id });
  output.show(members, () => {
    const rows = members.map((member) => [cell(member.name), cell(member.email), cell(member.role), String(member.id)]);
    output.table(["NAME", "EMAIL", "ROLE", "ID"], rows);
  });
}

async function remove(session: Session, email: string, { yes = false }: { readonly yes?: boolean }): Promise<void> {
  const { output, system } = session;
  if (!yes && !system.stdin.isTTY) throw usage("Remove a user from the team: confirm it with --yes.");
  const { client } = await session.connect();
  const { id, name } = await client.teams.current.query();
  const member = await memberOf(client, id, email);
  if (member === undefined) throw notMember(name);
  if (!yes) {
    output.line(`This removes ${printable(member.email)} from the team ${printable(name)}.`);
    await requireYes(system);
  }
  const answer = await client.teams.members.remove.mutate({ id, user_id: member.id });
  output.show(answer, () => output.line(printable(answer.message)));
}

async function invite(session: Session, email: string, { role }: { readonly role: Role }): Promise<void> {
  const { client } = await session.connect();
  const team = await client.teams.current.query();
  // Whoever is a member already keeps their role and gets another link.
  const known = await memberOf(client, team.id, email);
  const member = known ?? (await client.teams.members.add.mutate({ id: team.id, email, role }));
  const link = await client.teams.members.createSignInLink.mutate({ id: team.id, user_id: member.id });
  if (known !== undefined) {
    session.output.warn(
      `${printable(known.email)} is a member already, as ${known.role}. This is a new link for them.`,
    );
  }
  await showLink(session, link, { isOpened: false });
  if (link.url === null) {
    session.output.warn(
      "It leads to the address that this command uses. If others reach Berth by another one, set BERTH_PUBLIC_URL.",
    );
  }
  session.output.warn(`Send it to ${printable(member.email)} only. The first person who opens it acts as them.`);
}

async function resetSecondFactor(session: Session, email: string): Promise<void> {
  const { client } = await session.connect();
  const { id, name } = await client.teams.current.query();
  const member = await memberOf(client, id, email);
  if (member === undefined) throw notMember(name);
  const answer = await client.teams.members.resetSecondFactor.mutate({ id, user_id: member.id });
  session.output.show(answer, () => session.output.line(printable(answer.message)));
}

const notMember = (team: string): Failure =>
  new Failure(`The team ${printable(team)} has no member with this address.`, {
    exitCode: EXIT.failed,
    details: ["List its users with: berth user list"],
  });

async function memberOf({ teams }: Api["client"], id: number, email: string) {
  const members = await teams.members.list.query({ id });
  const wanted = email.trim().toLowerCase();
  return members.find((member) => member.email === wanted);
}
