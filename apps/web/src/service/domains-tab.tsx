import { ApplicationUpdate } from "@berth/core/application";
import { ServiceUpdate } from "@berth/core/service";
import { Anchor, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { client } from "../api/client.ts";
import { SchemaForm, type Values } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import type { PanelProps } from "../resource/panel.ts";

const OVERRIDE = "force_domain_override";

/** URLs of the containers of a service. */
export default function DomainsTab({ resource: { service } }: PanelProps) {
  const names = (service?.applications ?? []).map(({ name }) => name);
  const { schema, groups } = useMemo(() => formOf(names), [names.join()]);
  if (service === undefined) return null;
  const { uuid, applications } = service;
  return (
    <Stack>
      <Section title="URLs">
        {applications.every(({ urls }) => urls.length === 0) && (
          <Text size="sm">It has no URL: nothing is routed to it.</Text>
        )}
        <Stack gap={4}>
          {applications.flatMap(({ name, urls }) =>
            urls.map((url) => (
              <Text key={`${name} ${url}`} size="sm" className="break">
                {name}:{" "}
                <Anchor href={url} target="_blank" rel="noreferrer" size="sm">
                  {url}&nbsp;↗
                </Anchor>
              </Text>
            )),
          )}
        </Stack>
      </Section>
      <Section
        title="Change"
        about="Several URLs are separated by commas. A port is the one that the container listens on: https://shop.example.com:3000. What runs answers at them within seconds."
      >
        <SchemaForm
          schema={schema}
          groups={groups}
          values={Object.fromEntries(applications.map(({ name, fqdn }) => [fieldOf(name), fqdn ?? ""]))}
          submitLabel="Save URLs"
          submit={(sent) => client.services.update.mutate({ uuid, ...updateOf(sent) })}
        />
      </Section>
    </Stack>
  );
}

/** Names of fields, which no other field of the form has. */
const PREFIX = "URLs of ";
const fieldOf = (container: string): string => `${PREFIX}${container}`;

function formOf(containers: readonly string[]) {
  const fields = containers.map(fieldOf);
  const ofContainer = ApplicationUpdate.shape.domains.describe("");
  const urls = Object.fromEntries(fields.map((field) => [field, ofContainer]));
  return {
    schema: ServiceUpdate.pick({ [OVERRIDE]: true }).extend(urls),
    groups: [{ fields }, { title: "When another resource has the URL", fields: [OVERRIDE] }],
  };
}

function updateOf(sent: Values): Omit<Parameters<typeof client.services.update.mutate>[0], "uuid"> {
  const { [OVERRIDE]: override, ...urls } = sent;
  return {
    urls: Object.entries(urls).map(([field, url]) => ({ name: field.slice(PREFIX.length), url: String(url ?? "") })),
    ...(override === undefined ? {} : { [OVERRIDE]: override === true }),
  };
}
