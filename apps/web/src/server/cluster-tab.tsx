import { clusterHead, ENGINES } from "@berth/core/server";
import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, notify } from "../parts/action.tsx";
import { Section } from "../parts/page.tsx";
import { CreateCluster } from "./cluster-forms.tsx";
import { ClusterLink } from "./cluster-link.tsx";
import { NodesSection } from "./nodes-section.tsx";

/** The cluster that the server manages, is a node of, or can make. */
export default function ClusterTab({ server }: { readonly server: Outputs["servers"]["get"] }) {
  const { uuid, engine, swarm_cluster } = server;
  if (ENGINES[engine].isCluster) return <NodesSection uuid={uuid} />;
  return swarm_cluster === null ? <CreateCluster uuid={uuid} /> : <NodeOf server={server} />;
}

function NodeOf({ server }: { readonly server: Outputs["servers"]["get"] }) {
  const servers = useQuery(trpc.servers.list.queryOptions({})).data ?? [];
  const head = clusterHead(server, servers);
  return (
    <Section title="Cluster" about="What runs on the cluster is listed with the server that manages it.">
      <Stack align="flex-start" gap="sm">
        {head !== undefined && (
          <Text size="sm" component="div">
            A node of <ClusterLink {...head} />.
          </Text>
        )}
        <ActionButton
          question={`Let ${server.name} leave the cluster? Its containers start on other nodes.`}
          work={() => client.clusters.leave.mutate({ uuid: server.uuid })}
          after={({ message }) => notify(message)}
        >
          Leave
        </ActionButton>
      </Stack>
    </Section>
  );
}
