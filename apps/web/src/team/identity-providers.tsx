import { IdentityProviderCreate, IdentityProviderUpdate } from "@berth/core/team";
import { useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { CopyText } from "../parts/copy.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { STORED } from "../parts/field.ts";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";
import { groupRolesIn, groupRolesText } from "./group-roles.ts";

type Provider = Outputs["identityProviders"]["list"][number];
const FIELDS = [
  { fields: ["name", "kind", "issuer", "client_id", "client_secret"] },
  { title: "Who is let in", fields: ["sign_up", "sign_up_domains", "team_id"] },
  { title: "What groups give", fields: ["group_roles", "groups_claim"] },
];
const SIGN_UPS = {
  closed: "Who connected it",
  invited: "Who was invited",
  domain: "Everybody of its domains",
  group: "Everybody of its groups",
};

type Teams = Outputs["teams"]["list"];
/** Rules are entered as text. */
const withRules = (teams: Teams) => {
  const names = teams.map(({ name }) => name).join(", ");
  return {
    group_roles: z
      .string()
      .max(65_536)
      .refine(
        (text) => groupRolesIn(text, teams) !== undefined,
        `One a line: GROUP in TEAM as ROLE. Teams: ${names}. Roles: owner, admin, member.`,
      )
      .describe(
        "One a line, such as: developers in Root Team as member. Set at each sign-in. What groups gave ends when they give it no longer.",
      )
      .optional(),
  };
};
function rulesOf(text: string | undefined, teams: Teams) {
  if (text === undefined) return {};
  const rules = groupRolesIn(text, teams);
  if (rules === undefined) throw new TypeError("The form has checked the rules.");
  return { group_roles: [...rules] };
}

const columnsOf = (teams: Teams): readonly Column<Provider>[] => [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "Issuer", isExtra: true, cell: ({ issuer }) => <span className="mono break">{issuer}</span> },
  {
    header: "Lets in",
    cell: ({ sign_up, sign_up_domains }) => [SIGN_UPS[sign_up], sign_up_domains].filter(Boolean).join(": "),
  },
  {
    header: "Address to return to",
    isExtra: true,
    cell: ({ redirect_uri }) => (redirect_uri === null ? "Set BERTH_PUBLIC_URL" : <CopyText text={redirect_uri} />),
  },
  {
    header: "Action",
    cell: ({ uuid, name, group_roles: rules, ...provider }) => (
      <RowActions>
        <EditButton
          aria-label={`Edit ${name}`}
          title={`Identity provider: ${name}`}
          schema={IdentityProviderUpdate.extend(withRules(teams))}
          groups={FIELDS}
          values={{ name, ...provider, group_roles: groupRolesText(rules, teams) }}
          placeholders={{ client_secret: STORED }}
          submitLabel="Save"
          submit={({ group_roles, ...sent }) =>
            client.identityProviders.update.mutate({ uuid, ...sent, ...rulesOf(group_roles, teams) })
          }
        >
          Edit
        </EditButton>
        <ActionButton
          size="compact-xs"
          question={`Remove ${name}? Who signed in there alone needs a sign-in link then.`}
          work={() => client.identityProviders.delete.mutate({ uuid })}
        >
          Remove
        </ActionButton>
      </RowActions>
    ),
  },
];

export default function IdentityProviders() {
  const teams = useQuery(trpc.teams.list.queryOptions({})).data ?? [];
  return (
    <Collection
      title="Identity providers"
      about="Where people sign in instead of with a password: OpenID Connect, Google or GitHub."
      query={useQuery(trpc.identityProviders.list.queryOptions())}
      columns={columnsOf(teams)}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, issuer }) => `${name} ${issuer}`}
      empty={<Empty title="No providers">People sign in with a password.</Empty>}
      create={{
        label: "Add a provider",
        schema: IdentityProviderCreate.extend(withRules(teams)),
        groups: FIELDS,
        submit: ({ group_roles, ...sent }) =>
          client.identityProviders.create.mutate({ ...sent, ...rulesOf(group_roles, teams) }),
      }}
    />
  );
}
