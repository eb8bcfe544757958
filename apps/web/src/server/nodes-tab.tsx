import { ingressAddresses } from "@berth/core/server";
import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, queryClient, trpc } from "../api/client.ts";
import { useStream } from "../api/live.ts";
import { ActionButton } from "../parts/action.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { State } from "../parts/state.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { ResourceLink } from "../resource/resource-link.tsx";
import { nodeState } from "./node-state.ts";

type Node = Outputs["clusterNodes"]["list"][number];

/** @param uuid Uuid of the server that manages the cluster. */
export default function NodesTab({ uuid }: { readonly uuid: string }) {
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
      cell: ({ hostname, server_name, address }) => (
        <>
          {server_name ?? hostname}
          <Text size="xs" c="dimmed" className="break">
            {server_name === null ? "Not a server of Berth's: it gets no containers. Add it as a server." : address}
          </Text>
        </>
      ),
    },
    { header: "Role", cell: ({ role, is_leader }) => <span className="whole">{is_leader ? "leader" : role}</span> },
    { header: "State", cell: (node) => <State state={nodeState(node)} /> },
    { header: "Load", cell: (node) => <Load node={node} /> },
    { header: "Requests", cell: ({ is_ingress }) => (is_ingress ? "yes" : "no") },
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
    { header: "Engine", isExtra: true, cell: ({ engine_version }) => engine_version ?? "–" },
    { header: "Change", cell: (node) => <Actions uuid={uuid} node={node} /> },
  ];
  return (
    <Section title="Nodes" about="Machines of the cluster. Containers of a drained or lost node start on the others.">
      <Loaded query={query}>
        {(nodes) => (
          <>
            <DataTable
              label="Nodes"
              rows={nodes}
              columns={columns}
              keyOf={({ id }) => id}
              empty={<Empty title="No nodes" />}
            />
            <Text size="sm">Point the names of its sites at: {ingressAddresses(nodes).ready.join(", ")}</Text>
          </>
        )}
      </Loaded>
    </Section>
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

function waitingOf({ storages }: Node): string {
  if (storages === 0) return "It has no data of storages.";
  return `It alone has the data of ${storages === 1 ? "1 storage" : `${storages} storages`}: what needs it waits for the node.`;
}

function Actions({ uuid, node }: { readonly uuid: string; readonly node: Node }) {
  const change = (fields: Omit<Parameters<typeof client.clusterNodes.update.mutate>[0], "uuid" | "node_id">) => () =>
    client.clusterNodes.update.mutate({ uuid, node_id: node.id, ...fields });
  const name = node.server_name ?? node.hostname;
  return (
    <Group gap="xs">
      {node.availability === "active" ? (
        <ActionButton
          size="compact-sm"
          aria-label={`Drain ${name}`}
          question={`Drain ${name}? Its containers start on other nodes. ${waitingOf(node)}`}
          work={change({ availability: "drain" })}
        >
          Drain
        </ActionButton>
      ) : (
        <ActionButton size="compact-sm" aria-label={`Activate ${name}`} work={change({ availability: "active" })}>
          Activate
        </ActionButton>
      )}
      {node.server_uuid !== null && node.server_uuid !== uuid && (
        <ActionButton
          size="compact-sm"
          aria-label={node.is_ingress ? `Take no requests on ${name}` : `Take requests on ${name}`}
          question={
            node.is_ingress
              ? `Take no requests on ${name}? Change where DNS points first.`
              : `Take requests on ${name} too? Its proxy serves all sites of the cluster, so that DNS may point to it.`
          }
          work={change({ is_ingress: !node.is_ingress })}
        >
          {node.is_ingress ? "No requests" : "Take requests"}
        </ActionButton>
      )}
      {node.role === "worker" ? (
        <ActionButton size="compact-sm" aria-label={`Promote ${name}`} work={change({ role: "manager" })}>
          Promote
        </ActionButton>
      ) : (
        <ActionButton size="compact-sm" aria-label={`Demote ${name}`} work={change({ role: "worker" })}>
          Demote
        </ActionButton>
      )}
    </Group>
  );
}
