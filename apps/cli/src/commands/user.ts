import { ROLES, type Role } from "@berth/core/team";
import { type Command, Option } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, Failure } from "../failure.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { showLink } from "../sign-in-link.ts";

export function define(command: Command, bind: Bind): void {
  command
    .command("invite")
    .description("Add a user to the team, and make a link that signs them in.")
    .argument("<email>", "their address")
    .addOption(new Option("--role <role>", "what they may do").choices(ROLES).default("member"))
    .action(bind(invite));
  command
    .command("reset-second-factor")
    .description("Take the second factor away from a user of the team who lost it.")
    .argument("<email>", "their address")
    .action(bind(resetSecondFactor));
}

async function invite(session: Session, email: string, { role }: { readonly role: Role }): Promise<void> {
  const { client } = await session.connect();
  const team = await client.teams.current.query();
  // Whoever is a member already keeps their role and gets another link.
  const known = await memberOf(client, team.id, email);
  const member = known ?? (await client.teams.members.add.mutate({ id: team.id, email, role }));
  const link = await client.teams.members.createSignInLink.mutate({ id: team.id, user_id: member.id });
  await showLink(session, link, { isOpened: false });
  session.output.warn(`Send it to ${printable(member.email)} only. The first person who opens it acts as them.`);
}

async function resetSecondFactor(session: Session, email: string): Promise<void> {
  const { client } = await session.connect();
  const { id, name } = await client.teams.current.query();
  const member = await memberOf(client, id, email);
  if (member === undefined) {
    throw new Failure(`The team ${printable(name)} has no member with this address.`, { exitCode: EXIT.failed });
  }
  const answer = await client.teams.members.resetSecondFactor.mutate({ id, user_id: member.id });
  session.output.show(answer, () => session.output.line(printable(answer.message)));
}

async function memberOf({ teams }: Api["client"], id: number, email: string) {
  const members = await teams.members.list.query({ id });
  const wanted = email.trim().toLowerCase();
  return members.find((member) => member.email === wanted);
}
