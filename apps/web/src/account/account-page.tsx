import { AccountUpdate, PasswordChange } from "@berth/core/team";
import { Skeleton, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { Loaded, PageTitle, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";

const IdentitiesSection = lazy(() => import("./identities-section.tsx"));
const PasskeysSection = lazy(() => import("../passkey/passkeys-section.tsx"));
const SecondFactorSection = lazy(() => import("./second-factor-section.tsx"));
type Session = Outputs["auth"]["sessions"]["list"][number];
const USER_FIELDS = [{ fields: ["name", "email"] }];
const FIELDS = [{ fields: ["current_password", "password"] }];

const COLUMNS: readonly Column<Session>[] = [
  { header: "Browser", cell: ({ device, is_current }) => (is_current ? `This one: ${device}` : device) },
  { header: "Address", isExtra: true, cell: ({ address }) => <span className="mono">{address}</span> },
  {
    header: "Last used",
    isExtra: true,
    cell: ({ last_used_at, created_at }) => <Age at={last_used_at ?? created_at} />,
  },
  {
    header: "Action",
    cell: ({ id, is_current }) =>
      is_current ? null : (
        <ActionButton needs={null} size="compact-xs" work={() => client.auth.sessions.revoke.mutate({ id })}>
          Sign it out
        </ActionButton>
      ),
  },
];

export function AccountPage() {
  const { data } = useQuery(trpc.auth.current.queryOptions());
  const sessions = useQuery(trpc.auth.sessions.list.queryOptions());
  return (
    <>
      <PageTitle title={data?.user.name ?? "Account"}>
        <Text size="sm" c="dimmed">
          {data?.user.email}
        </Text>
      </PageTitle>
      <Stack>
        <Section
          title="Sessions"
          about="Where you are signed in."
          actions={
            <ActionButton
              needs={null}
              work={() => client.auth.sessions.revokeOthers.mutate({})}
              after={({ message }) => notify(message)}
            >
              Sign out everywhere else
            </ActionButton>
          }
        >
          <Loaded query={sessions}>
            {(list) => <DataTable label="Sessions" rows={list} columns={COLUMNS} keyOf={({ id }) => id} empty={null} />}
          </Loaded>
        </Section>
        {data !== undefined && (
          <Section title="You" about="The address is what you sign in with.">
            <SchemaForm
              needs={null}
              schema={AccountUpdate}
              groups={USER_FIELDS}
              values={{ name: data.user.name, email: data.user.email }}
              submitLabel="Save"
              submit={(sent) => client.auth.update.mutate(sent)}
            />
          </Section>
        )}
        <Section title="Password" about="Changing it signs you out everywhere else.">
          <SchemaForm
            needs={null}
            schema={PasswordChange}
            groups={FIELDS}
            values={{}}
            isNew
            submitLabel="Change password"
            submit={(sent) => client.auth.changePassword.mutate(sent)}
            after={({ message }) => notify(message)}
          />
        </Section>
        <Suspense fallback={<Skeleton h={100} />}>
          <PasskeysSection />
          <SecondFactorSection />
          <IdentitiesSection />
        </Suspense>
      </Stack>
    </>
  );
}
