import { type AttachedDestination, DestinationAttach } from "@berth/core/application";
import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { TextLink } from "../parts/link.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { RunStatus, Status } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import type { PanelProps } from "./panel.ts";
import { useDestinationChoices } from "./usable-servers.ts";

/** The servers that an application is deployed to, with its status on each. */
export function ServersSection({ resource: { uuid, name } }: PanelProps) {
  const [isAdding, setAdding] = useState(false);
  const query = useQuery(trpc.applications.destinations.list.queryOptions({ uuid }));
  return (
    <Section
      title="Servers"
      about="A deployment goes to the first server, then with the same commit to the others. A server where it fails keeps what it runs."
      actions={<AllowedButton onClick={() => setAdding(true)}>Add a server</AllowedButton>}
    >
      <Loaded query={query}>
        {(destinations) => (
          <DataTable
            label={`Servers of ${name}`}
            rows={destinations}
            columns={columnsOf(uuid, name)}
            keyOf={(destination) => destination.uuid}
            empty={<Empty title="No server" />}
          />
        )}
      </Loaded>
      <Dialog opened={isAdding} onClose={() => setAdding(false)} title={`Deploy ${name} to another server`} size="lg">
        <AddForm uuid={uuid} attached={query.data ?? []} after={() => setAdding(false)} />
      </Dialog>
    </Section>
  );
}

const columnsOf = (uuid: string, name: string): readonly Column<AttachedDestination>[] => [
  {
    header: "Server",
    cell: ({ server_name, server_uuid, is_primary }) => (
      <>
        {server_uuid === null ? (
          server_name
        ) : (
          <TextLink to="/servers/$uuid/{-$tab}" params={{ uuid: server_uuid }}>
            {server_name}
          </TextLink>
        )}
        {is_primary && " (first)"}
      </>
    ),
  },
  {
    header: "Status",
    cell: ({ status, problem }) => (
      <Stack gap={2}>
        <Status status={status} />
        {problem !== null && (
          <Text size="sm" c="dimmed" className="break" lineClamp={3}>
            {problem}
          </Text>
        )}
      </Stack>
    ),
  },
  {
    header: "Last deployment",
    cell: ({ deployment }) =>
      deployment !== null && (
        <>
          <RunStatus status={deployment.status} />{" "}
          <TextLink to="/deployments/$uuid" params={{ uuid: deployment.uuid }} size="sm">
            {deployment.finished_at === null ? "follow" : <Age at={deployment.finished_at} />}
          </TextLink>
        </>
      ),
  },
  {
    header: "Action",
    cell: ({ uuid: destination_uuid, server_uuid, server_name, is_primary }) => (
      <Group gap="xs">
        {server_uuid !== null && (
          <ActionButton
            size="compact-xs"
            needs="deploy"
            aria-label={`Deploy to ${server_name}`}
            work={() => client.deploy.mutate({ uuid, server_uuid })}
            after={({ deployments }) => notify(deployments?.[0]?.message ?? "Nothing was queued.")}
          >
            Deploy here
          </ActionButton>
        )}
        {!is_primary && (
          <ActionButton
            size="compact-xs"
            aria-label={`Remove from ${server_name}`}
            question={`Remove ${name} from server ${server_name}? What runs there is removed.`}
            work={() => client.applications.destinations.detach.mutate({ uuid, destination_uuid })}
            after={({ message }) => notify(message)}
          >
            Remove
          </ActionButton>
        )}
      </Group>
    ),
  },
];

interface AddFormProps {
  readonly uuid: string;
  readonly attached: readonly AttachedDestination[];
  readonly after: () => void;
}

function AddForm({ uuid, attached, after }: AddFormProps) {
  const taken = new Set(attached.map(({ server_uuid }) => server_uuid));
  const choices = useDestinationChoices()?.filter(({ serverUuid }) => !taken.has(serverUuid)) ?? [];
  return (
    <SchemaForm
      schema={DestinationAttach}
      groups={[{ fields: ["destination_uuid"] }]}
      values={{}}
      isNew
      choices={{ destination_uuid: choices }}
      submitLabel="Add"
      note="It is deployed there with its next deployment. Requests reach it there once a name of the application points to that server too."
      submit={(sent) => client.applications.destinations.attach.mutate({ uuid, ...sent })}
      after={({ message }) => {
        after();
        notify(message);
      }}
    />
  );
}
