import { ROLES, type Role } from "@berth/core/team";
import { type Command, Option } from "commander";
import type { Bind } from "../command-module.ts";
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
}

async function invite(session: Session, email: string, { role }: { readonly role: Role }): Promise<void> {
  const { client } = await session.connect();
  const team = await client.teams.current.query();
  // An existing member keeps their role and gets a new link.
  const members = await client.teams.members.list.query({ id: team.id });
  const wanted = email.trim().toLowerCase();
  const known = members.find((member) => member.email === wanted);
  const member = known ?? (await client.teams.members.add.mutate({ id: team.id, email, role }));
  const link = await client.teams.members.createSignInLink.mutate({ id: team.id, user_id: member.id });
  await showLink(session, link, { isOpened: false });
  session.output.warn(`Send it to ${printable(member.email)} only. The first person who opens it acts as them.`);
}
