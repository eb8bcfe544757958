import { LogDrainsUpdate } from "@berth/core/server";
import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, trpc } from "../api/client.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Loaded, Section } from "../parts/page.tsx";

const GROUPS: readonly FieldGroup[] = [
  {
    title: "New Relic",
    fields: ["is_logdrain_newrelic_enabled", "logdrain_newrelic_license_key", "logdrain_newrelic_base_uri"],
  },
  { title: "Axiom", fields: ["is_logdrain_axiom_enabled", "logdrain_axiom_dataset_name", "logdrain_axiom_api_key"] },
  {
    title: "Another receiver",
    fields: ["is_logdrain_custom_enabled", "logdrain_custom_config", "logdrain_custom_config_parser"],
  },
];

const fieldName = (name: string): string => name.replace(/^logdrain_(newrelic|axiom|custom)_|(?<=^is_)logdrain_/, "");

/** Where the lines of this server's resources are delivered. */
export default function LogDrainsSection({ uuid }: { readonly uuid: string }) {
  const query = useQuery(trpc.logDrains.get.queryOptions({ uuid }));
  return (
    <Section
      title="Log drains"
      about="Delivers what the applications of this server print from now on. Turn it on for each application in its settings, too."
    >
      <Loaded query={query}>
        {({ problem, ...values }) => (
          <>
            {problem !== null && <Alert color="red" variant="outline" title={problem} mb="sm" />}
            <SchemaForm
              schema={LogDrainsUpdate}
              groups={GROUPS}
              nameOf={fieldName}
              values={values}
              submitLabel="Save log drains"
              submit={(sent) => client.logDrains.update.mutate({ uuid, ...sent })}
            />
          </>
        )}
      </Loaded>
    </Section>
  );
}
