import { SignInSettingsUpdate, TeamUpdate } from "@berth/core/team";
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, trpc } from "../api/client.ts";
import { useRefusal } from "../parts/allowed.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { Loaded, Section } from "../parts/page.tsx";
import IdentityProviders from "./identity-providers.tsx";

const TEAM_FIELDS = [{ fields: ["name", "description", "second_factor_required"] }];
const INSTANCE_FIELDS = [{ fields: ["second_factor_required"] }];
/** Runs the instance. */
const ROOT_TEAM_ID = 0;

export default function SignInTab() {
  const team = useQuery(trpc.teams.current.queryOptions());
  // What may be read is known by then too.
  const session = useQuery(trpc.auth.current.queryOptions()).data;
  return (
    <Stack>
      <Section
        title="This team"
        about="For its owners. Where a second factor is required, who has none may only set one up."
      >
        <Loaded query={team}>
          {({ id, name, description, second_factor_required }) => (
            <SchemaForm
              needs="owner"
              schema={TeamUpdate}
              groups={TEAM_FIELDS}
              values={{ name, description, second_factor_required }}
              submitLabel="Save team"
              submit={(sent) => client.teams.update.mutate({ id, ...sent })}
            />
          )}
        </Loaded>
      </Section>
      {session?.team.id === ROOT_TEAM_ID && <OfInstance />}
    </Stack>
  );
}

function OfInstance() {
  const refusal = useRefusal("root");
  if (refusal !== undefined) {
    return (
      <Section title="The whole instance" about="Who signs in, and by which identity providers.">
        <Text size="sm">{refusal}</Text>
      </Section>
    );
  }
  return (
    <>
      <InstanceSection />
      <IdentityProviders />
    </>
  );
}

function InstanceSection() {
  const settings = useQuery(trpc.auth.settings.get.queryOptions());
  return (
    <Section title="The whole instance" about="For the sessions of all teams.">
      <Loaded query={settings}>
        {(values) => (
          <SchemaForm
            schema={SignInSettingsUpdate}
            groups={INSTANCE_FIELDS}
            values={values}
            submitLabel="Save instance"
            submit={(sent) => client.auth.settings.update.mutate(sent)}
          />
        )}
      </Loaded>
    </Section>
  );
}
