import { IdentityProviderCreate, IdentityProviderUpdate } from "@berth/core/team";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { CopyText } from "../parts/copy.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import { Empty } from "../parts/page.tsx";
import { RowActions } from "../parts/row-actions.tsx";
import type { Column } from "../parts/table.tsx";

type Provider = Outputs["identityProviders"]["list"][number];
const FIELDS = [
  { fields: ["name", "kind", "issuer", "client_id", "client_secret"] },
  { title: "Who is let in", fields: ["sign_up", "sign_up_domains", "team_id"] },
];
const SIGN_UPS = { closed: "Who connected it", invited: "Who was invited", domain: "Everybody of its domains" };

const COLUMNS: readonly Column<Provider>[] = [
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
    cell: ({ uuid, name, ...provider }) => (
      <RowActions>
        <EditButton
          aria-label={`Edit ${name}`}
          title={`Identity provider: ${name}`}
          schema={IdentityProviderUpdate}
          groups={FIELDS}
          values={{ name, ...provider }}
          submitLabel="Save"
          submit={(sent) => client.identityProviders.update.mutate({ uuid, ...sent })}
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
  return (
    <Collection
      title="Identity providers"
      about="Where people sign in instead of with a password: OpenID Connect, Google or GitHub."
      query={useQuery(trpc.identityProviders.list.queryOptions())}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ name, issuer }) => `${name} ${issuer}`}
      empty={<Empty title="No providers">People sign in with a password.</Empty>}
      create={{
        label: "Add a provider",
        schema: IdentityProviderCreate,
        groups: FIELDS,
        submit: (sent) => client.identityProviders.create.mutate(sent),
      }}
    />
  );
}
