import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Loaded, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { goToProvider } from "../sign-in/at-provider.ts";

type Identity = Outputs["auth"]["identities"]["list"][number];

const COLUMNS: readonly Column<Identity>[] = [
  { header: "Provider", cell: ({ provider }) => <span dir="auto">{provider}</span> },
  { header: "Address there", cell: ({ email }) => email ?? "Not verified" },
  { header: "Since", isExtra: true, cell: ({ created_at }) => <Age at={created_at} /> },
  {
    header: "Action",
    cell: ({ provider, provider_id }) => (
      <ActionButton
        needs={null}
        size="compact-xs"
        question={`Disconnect ${provider}? You cannot sign in there any more.`}
        work={() => client.auth.identities.disconnect.mutate({ provider_id })}
        after={({ message }) => notify(message)}
      >
        Disconnect
      </ActionButton>
    ),
  },
];

/** Nothing where the instance has no providers. */
export default function IdentitiesSection() {
  const providers = useQuery(trpc.auth.providers.list.queryOptions());
  const identities = useQuery(trpc.auth.identities.list.queryOptions());
  const connected = new Set(identities.data?.map(({ provider }) => provider));
  if ((providers.data ?? []).length === 0) return null;
  return (
    <Section title="Sign-in elsewhere" about="Providers that you sign in at instead of with your password.">
      <Loaded query={identities}>
        {(list) => (
          <DataTable
            label="Connected providers"
            rows={list}
            columns={COLUMNS}
            keyOf={({ provider_id }) => provider_id}
            empty={<Text size="sm">None is connected.</Text>}
          />
        )}
      </Loaded>
      <Group mt="sm">
        {providers.data
          ?.filter(({ name }) => !connected.has(name))
          .map(({ uuid, name }) => (
            <ActionButton needs={null} key={uuid} work={() => goToProvider(uuid, "connect", "/account")}>
              {`Connect ${name}`}
            </ActionButton>
          ))}
      </Group>
    </Section>
  );
}
