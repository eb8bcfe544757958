import { ResourceMigrate } from "@berth/core/resource";
import { Text } from "@mantine/core";
import { client, type Outputs } from "../api/client.ts";
import { useOpenDeployment } from "../deployment/open-deployment.ts";
import { notify } from "../parts/action.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { TextLink } from "../parts/link.tsx";
import { Section } from "../parts/page.tsx";
import { useDestinationChoices } from "./usable-servers.ts";

const MoveForm = ResourceMigrate.extend({
  destination_uuid: ResourceMigrate.shape.destination_uuid.describe("A server of the team that can run it."),
});
const FIELDS = [{ fields: ["destination_uuid", "migrate_volumes"] }];
/** What the form calls the fields: it offers servers, and no data is ever copied. */
const NAMES: Readonly<Record<string, string>> = {
  destination_uuid: "server",
  migrate_volumes: "only_without_data_in_volumes",
};

export function ServerMoveSection({ application }: { readonly application: Outputs["applications"]["get"] }) {
  const { uuid, destination: own } = application;
  const open = useOpenDeployment();
  const choices = useDestinationChoices()?.filter(({ value }) => value !== own.uuid);
  if (choices === undefined) return null;
  return (
    <Section
      title="Move to another server"
      about="What runs is deployed there first, and continues here until that deployment has switched. URLs, variables and history stay. Data in volumes is not copied."
    >
      {choices.length === 0 ? (
        <Text size="sm">
          No other server can run it. <TextLink to="/servers">Add a server</TextLink>
        </Text>
      ) : (
        <SchemaForm
          // Its own destination cannot be chosen, and changes with a move.
          key={own.uuid}
          schema={MoveForm}
          groups={FIELDS}
          nameOf={(name) => NAMES[name] ?? name}
          values={{ migrate_volumes: true }}
          isNew
          choices={{ destination_uuid: choices }}
          submitLabel="Move to the server"
          note="Where the other server has another address, point DNS at it."
          submit={(sent) => client.applications.migrate.mutate({ uuid, ...sent })}
          after={({ message, ...queued }) => {
            notify(message);
            return open(queued);
          }}
        />
      )}
    </Section>
  );
}
