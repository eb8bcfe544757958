import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { client, trpc } from "../api/client.ts";
import { DangerButton, notify } from "../parts/action.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { InSlices } from "../parts/in-slices.tsx";
import { Section } from "../parts/page.tsx";
import { DeployAgain } from "./deploy-again.tsx";
import { MoveSection } from "./move-section.tsx";
import { callsOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";
import type { ShownResource } from "./resource.ts";
import { ServerMoveSection } from "./server-move-section.tsx";
import { placeholdersOf, settingsOf } from "./settings.ts";
import { TagsSection } from "./tags-section.tsx";

export default function SettingsTab({ resource }: PanelProps) {
  const { kind, uuid } = resource;
  const { schema, groups, values } = settingsOf(resource);
  const keys = useQuery(trpc.privateKeys.list.queryOptions({})).data ?? [];
  const containers = useQuery({
    ...trpc.applications.containers.list.queryOptions({ uuid }),
    // Of a compose file, each container has a port of its own.
    enabled: resource.application?.ports_exposes === null && resource.application.build_pack !== "dockercompose",
  });
  const save = (sent: Record<string, unknown>): Promise<unknown> => {
    const { [kind]: update } = {
      application: client.applications.update,
      database: client.databases.update,
      service: client.services.update,
    };
    // The schema of the kind has validated the input, and the operation accepts the same fields.
    return (update.mutate as (input: object) => Promise<unknown>)({ uuid, ...sent });
  };
  return (
    <Stack>
      <Section title="Settings">
        <SchemaForm
          key={uuid}
          schema={schema}
          groups={groups}
          values={values}
          choices={{ private_key_uuid: keys.map((key) => ({ value: key.uuid, label: key.name })) }}
          placeholders={placeholdersOf(containers.data ?? [])}
          submitLabel="Save settings"
          note={<Effect resource={resource} />}
          submit={save}
        />
      </Section>
      {/* Drawn with the rest of the long form above, which would push them away from under the pointer. */}
      <InSlices>
        <TagsSection resource={resource} />
        <MoveSection resource={resource} />
        {resource.application !== undefined && <ServerMoveSection application={resource.application} />}
        <DangerZone resource={resource} />
      </InSlices>
    </Stack>
  );
}

const Effect = ({ resource }: { readonly resource: ShownResource }) => (
  <>
    Takes effect with the next {resource.kind === "application" ? "deployment" : "start"}.{" "}
    <DeployAgain resource={resource} />
  </>
);

function DangerZone({ resource: { kind, uuid, name } }: { readonly resource: ShownResource }) {
  const navigate = useNavigate();
  const calls = callsOf(kind);
  const attachments = useQuery({
    ...trpc.databases.attachments.list.queryOptions({ uuid }),
    enabled: kind === "database",
  });
  const users = [...new Set((attachments.data ?? []).map(({ resource_name }) => resource_name))];
  const use =
    users.length === 0 ? "" : ` It is used by ${users.join(", ")}, and is deleted only after it is detached there.`;
  const leave = ({ message }: { readonly message: string }) => {
    notify(message);
    return navigate({ to: "/" });
  };
  return (
    <Section title="Danger zone" about="Deleting cannot be undone.">
      <Stack gap="xs" align="flex-start">
        <DangerButton
          name={name}
          about={`Deletes the ${kind} with its storages and everything in them. Backups stored elsewhere stay.${use}`}
          work={() => calls.delete.mutate({ uuid })}
          after={leave}
        >
          Delete with its data
        </DangerButton>
        <DangerButton
          name={name}
          about={`Deletes the ${kind}; its volumes stay on the server.${use}`}
          work={() => calls.delete.mutate({ uuid, delete_volumes: false })}
          after={leave}
        >
          Delete and keep its volumes
        </DangerButton>
      </Stack>
    </Section>
  );
}
