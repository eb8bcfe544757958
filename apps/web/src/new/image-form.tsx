import { ApplicationCreateImage } from "@berth/core/application";
import { client } from "../api/client.ts";
import { useOpenCreated } from "../deployment/open-deployment.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import type { SourceProps } from "./place.tsx";

const FIELDS: readonly FieldGroup[] = [
  { fields: ["docker_registry_image_name", "docker_registry_image_tag", "name", "ports_exposes", "domains"] },
  { title: "Run", fields: ["start_command", "ports_mappings"] },
];

export default function ImageForm({ place, resolvePlace }: SourceProps) {
  const open = useOpenCreated("application");
  return (
    <Section title="Image" about="A private image needs the login of its registry, under Team, Registries.">
      <SchemaForm
        schema={ApplicationCreateImage}
        groups={FIELDS}
        values={{}}
        fixed={{ ...place, instant_deploy: true }}
        isNew
        operation="applications.createImage"
        submitLabel="Deploy"
        submit={async (sent) =>
          client.applications.createImage.mutate(ApplicationCreateImage.parse({ ...sent, ...(await resolvePlace()) }))
        }
        after={open}
      />
    </Section>
  );
}
