import { ServiceCreate } from "@berth/core/service";
import { Stack } from "@mantine/core";
import { useState } from "react";
import { client } from "../api/client.ts";
import { useOpenCreated } from "../deployment/open-deployment.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Editor } from "../parts/lazy.tsx";
import { Section } from "../parts/page.tsx";
import type { SourceProps } from "./place.tsx";

const FIELDS: readonly FieldGroup[] = [{ fields: ["name", "description"] }];
const EXAMPLE = `services:
  web:
    image: nginx:alpine
    environment:
      # Berth makes a URL for port 80 of this container.
      - SERVICE_FQDN_WEB_80
`;

export default function ComposeForm({ place, resolvePlace }: SourceProps) {
  const [compose, setCompose] = useState(EXAMPLE);
  const open = useOpenCreated("service");
  return (
    <Section title="Compose file" about="Escape and then Tab leaves the editor.">
      <Stack>
        <Editor label="Compose file" text={EXAMPLE} onChange={setCompose} />
        <SchemaForm
          schema={ServiceCreate}
          groups={FIELDS}
          values={{}}
          fixed={{ ...place, docker_compose_raw: compose, instant_deploy: true }}
          isNew
          operation="services.create"
          submitLabel="Create and start"
          submit={async (sent) =>
            client.services.create.mutate(ServiceCreate.parse({ ...sent, ...(await resolvePlace()) }))
          }
          after={open}
        />
      </Stack>
    </Section>
  );
}
