import { MemberAdd } from "@berth/core/team";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, type Outputs, queryClient, trpc } from "../api/client.ts";
import { ActionButton, notify, notifyProblem } from "../parts/action.tsx";
import { useRefusal } from "../parts/allowed.tsx";
import { Choice } from "../parts/choice.tsx";
import { Collection } from "../parts/collection.tsx";
import { confirmed } from "../parts/confirmation.tsx";
import { CopyText } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";

type Member = Outputs["teams"]["members"]["listCurrent"][number];
const FIELDS = [{ fields: ["email", "name", "role"] }];
const ROLES = [
  { value: "owner", label: "Owner: everything" },
  { value: "admin", label: "Admin: everything but owners" },
  { value: "member", label: "Member: reads" },
];
const isRole = (text: string | null): text is Member["role"] => ROLES.some(({ value }) => value === text);

export default function MembersTab() {
  const { data: team } = useQuery(trpc.teams.current.queryOptions());
  const query = useQuery(trpc.teams.members.listCurrent.queryOptions({}));
  const id = team?.id ?? 0;
  const [refusal, ownersRefusal] = [useRefusal("root"), useRefusal("owner")];
  // Only owners manage owners.
  const refusalFor = (role: Member["role"]) => (role === "owner" ? ownersRefusal : refusal);
  const neededFor = (role: Member["role"]) => (role === "owner" ? "owner" : "root");
  const [link, setLink] = useState<string>();
  const columns: readonly Column<Member>[] = [
    { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
    { header: "Email", isExtra: true, cell: ({ email }) => email },
    {
      header: "Role",
      cell: (member) => (
        <Choice
          size="xs"
          aria-label={`Role of ${member.name}`}
          disabled={refusalFor(member.role) !== undefined}
          title={refusalFor(member.role)}
          data={ROLES}
          value={member.role}
          allowDeselect={false}
          onChange={async (role) => {
            if (!isRole(role)) return;
            const change = () => client.teams.members.update.mutate({ id, user_id: member.id, role });
            await confirmed(change).catch(notifyProblem);
            void queryClient.invalidateQueries();
          }}
        />
      ),
    },
    {
      header: "Action",
      cell: (member) => (
        <RowActions>
          <ActionButton
            size="compact-xs"
            needs={neededFor(member.role)}
            work={() => client.teams.members.createSignInLink.mutate({ id, user_id: member.id })}
            after={({ code, url }) => setLink(url ?? `${location.origin}/sign-in#code=${code}`)}
          >
            Sign-in link
          </ActionButton>
          <ActionButton
            size="compact-xs"
            needs="owner"
            question={`Take the authenticator app and the passkeys of ${member.name} away? They sign in with the password alone until they set up another, or with a sign-in link if they have none.`}
            work={() => client.teams.members.resetSecondFactor.mutate({ id, user_id: member.id })}
            after={({ message }) => notify(message)}
          >
            Reset second factor
          </ActionButton>
          <ActionButton
            size="compact-xs"
            needs={neededFor(member.role)}
            question={`Remove ${member.name} from the team? Their tokens end at once.`}
            work={() => client.teams.members.remove.mutate({ id, user_id: member.id })}
          >
            Remove
          </ActionButton>
        </RowActions>
      ),
    },
  ];
  return (
    <>
      <Dialog opened={link !== undefined} onClose={() => setLink(undefined)} title="Send them this link">
        <Text size="sm" mb="sm">
          It signs them in once, within 24 hours, and lets them choose a password. It is not shown again.
        </Text>
        {link !== undefined && <CopyText text={link} />}
      </Dialog>
      <Collection
        title="Members"
        about="The members of this team, with their roles."
        query={query}
        columns={columns}
        keyOf={(member) => member.id}
        textOf={({ name, email }) => `${name} ${email}`}
        empty={null}
        create={{
          label: "Add a member",
          schema: MemberAdd,
          groups: FIELDS,
          values: { role: "member" },
          submit: (sent) => client.teams.members.add.mutate({ id, ...sent }),
        }}
      />
    </>
  );
}
