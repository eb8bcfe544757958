import { ingressAddresses, labelTexts, lossTolerated } from "@berth/core/server";
import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, queryClient, trpc } from "../api/client.ts";
import { useStream } from "../api/live.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { State } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { ResourceLink } from "../resource/resource-link.tsx";
import { JoinCluster } from "./cluster-forms.tsx";
import { NodeActions } from "./node-actions.tsx";
import { type Node, nodeState } from "./node-state.ts";

/** @param uuid Uuid of the server that manages the cluster. */
export function NodesSection({ uuid }: { readonly uuid: string }) {
  const query = useQuery(trpc.clusterNodes.list.queryOptions({ uuid }));
  // Shows how a node that is drained empties.
  useStream<readonly Node[]>(
    uuid,
    (handlers) => client.clusterNodes.follow.subscribe({ uuid }, handlers),
    (nodes) => queryClient.setQueryData(trpc.clusterNodes.list.queryKey({ uuid }), [...nodes]),
  );
  const columns: readonly Column<Node>[] = [
    {
      header: "Node",
      cell: ({ hostname, server_name, address, labels }) => (
        <>
          {server_name ?? hostname}
          <Text size="xs" c="dimmed" className="break">
            {server_name === null ? "Not a server of Berth's: it gets no containers. Add it as a server." : address}
          </Text>
          <Text size="xs" c="dimmed" className="break mono">
            {labelTexts(labels).join(", ")}
          </Text>
        </>
      ),
    },
    {
      header: "Role",
      cell: ({ role, is_leader, is_ingress }) => (
        <>
          <span className="whole">{is_leader ? "leader" : role}</span>
          {is_ingress && (
            <Text size="xs" c="dimmed">
              takes requests
            </Text>
          )}
        </>
      ),
    },
    { header: "State", cell: (node) => <State state={nodeState(node)} /> },
    { header: "Load", cell: (node) => <Load node={node} /> },
    {
      header: "Containers",
      cell: ({ containers, containers_leaving, resources }) => (
        <>
          {containers_leaving === 0 ? containers : `${containers}, ${containers_leaving} stopping`}
          {resources.map((resource) => (
            <Group key={resource.uuid} gap={6} wrap="nowrap">
              <ResourceLink {...resource} />
              <Text size="xs" c="dimmed" className="whole">
                × {resource.containers}
              </Text>
            </Group>
          ))}
        </>
      ),
    },
    {
      header: "Data",
      cell: ({ data_of }) =>
        data_of.length === 0 ? "–" : data_of.map((resource) => <ResourceLink key={resource.uuid} {...resource} />),
    },
    { header: "Engine", isExtra: true, cell: ({ engine_version }) => engine_version ?? "–" },
    { header: "Change", cell: (node) => <NodeActions uuid={uuid} node={node} /> },
  ];
  return (
    <Loaded query={query}>
      {(nodes) => (
        <Stack>
          <Section
            title="Nodes"
            about="Machines of the cluster. Containers of a drained or lost node start on the others, except those whose data is on it."
            actions={<ClusterActions uuid={uuid} isAlone={nodes.length === 1} />}
          >
            <DataTable
              label="Nodes"
              rows={nodes}
              columns={columns}
              keyOf={({ id }) => id}
              empty={<Empty title="No nodes" />}
            />
            <Tolerance managers={nodes.filter(({ role }) => role === "manager").length} />
            <Text size="sm">Point the names of its sites at: {ingressAddresses(nodes).ready.join(", ")}</Text>
          </Section>
          <JoinCluster uuid={uuid} hasWorkers={nodes.some(({ role }) => role === "worker")} />
        </Stack>
      )}
    </Loaded>
  );
}

function Tolerance({ managers }: { readonly managers: number }) {
  if (lossTolerated(managers) > 0) return null;
  return (
    <Text size="sm" my="xs">
      {managers === 1 ? "1 manager tolerates" : `${managers} managers tolerate`} the loss of none. Promote nodes until
      there are 3.
    </Text>
  );
}

function ClusterActions({ uuid, isAlone }: { readonly uuid: string; readonly isAlone: boolean }) {
  const after = ({ message }: { readonly message: string }) => notify(message);
  return (
    <Group gap="xs">
      <ActionButton
        question="Replace the tokens by which machines join? Those that somebody read before are worthless then. Nodes stay."
        work={() => client.clusters.rotateTokens.mutate({ uuid })}
        after={after}
      >
        New tokens
      </ActionButton>
      {isAlone && (
        <ActionButton
          question="End the cluster? The server then runs its containers alone. It must have no resources."
          work={() => client.clusters.leave.mutate({ uuid })}
          after={after}
        >
          End the cluster
        </ActionButton>
      )}
    </Group>
  );
}

/** Of its processors, and what is used of its memory. */
function Load({ node }: { readonly node: Node }) {
  const { load_average: load, cpus, memory_used_bytes: used, memory_bytes: all } = node;
  return (
    <>
      <span className="whole">
        {load?.toFixed(1) ?? "–"}
        {load !== null && cpus !== null && ` of ${cpus} CPUs`}
      </span>
      {used !== null && all !== null && (
        <Text size="xs" c="dimmed">
          {Math.round((used / all) * 100)} % of memory
        </Text>
      )}
    </>
  );
}
