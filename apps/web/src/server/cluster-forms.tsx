import { ClusterCreate, ClusterJoin, ENGINES } from "@berth/core/server";
import { useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { client, trpc } from "../api/client.ts";
import { notify } from "../parts/action.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Section } from "../parts/page.tsx";

const told = ({ message }: { readonly message: string }) => notify(message);

const CREATE_FIELDS: readonly FieldGroup[] = [{ fields: ["address_pool", "advertise_address"] }];

/** @param uuid Uuid of a server that is in no cluster. */
export function CreateCluster({ uuid }: { readonly uuid: string }) {
  return (
    <Section
      title="Make a cluster"
      about="This server becomes the first manager of a new Docker Swarm, which runs applications on all machines that join. It must have no resources."
    >
      <SchemaForm
        isNew
        schema={ClusterCreate}
        groups={CREATE_FIELDS}
        values={{}}
        submitLabel="Make a cluster"
        submit={(sent) => client.clusters.create.mutate({ uuid, ...sent })}
        after={told}
      />
    </Section>
  );
}

const Joining = ClusterJoin.extend({ uuid: z.string().describe("Its engine must be Docker, outside of a cluster.") });
const JOIN_FIELDS: readonly FieldGroup[] = [{ fields: ["uuid", "role", "advertise_address"] }];
const LABELS: ReadonlyMap<string, string> = new Map([["uuid", "server"]]);

interface JoinProps {
  /** Uuid of the server that manages the cluster. */
  readonly uuid: string;
  readonly hasWorkers: boolean;
}

export function JoinCluster({ uuid: manager_uuid, hasWorkers }: JoinProps) {
  const servers = useQuery(trpc.servers.list.queryOptions({})).data ?? [];
  const single = servers.filter(
    ({ engine, swarm_cluster, is_coolify_host }) =>
      ENGINES[engine].hasContainers && !ENGINES[engine].isCluster && swarm_cluster === null && !is_coolify_host,
  );
  return (
    <Section
      title="Add a server"
      about="Its machine and the managers must reach each other at the ports 2377 (TCP), 7946 (TCP and UDP) and 4789 (UDP)."
    >
      {single.length === 0 ? (
        <Empty title="No server to add">Add the machine under Servers first, with Docker as its engine.</Empty>
      ) : (
        <SchemaForm
          isNew
          schema={Joining}
          groups={JOIN_FIELDS}
          nameOf={(name) => LABELS.get(name) ?? name}
          values={{ role: "worker" }}
          fixed={{ manager_uuid }}
          choices={{ uuid: single.map(({ uuid, name }) => ({ value: uuid, label: name })) }}
          submitLabel="Add to the cluster"
          note={
            hasWorkers
              ? "What runs on it continues."
              : "The first worker takes all applications from their next deployment on, unless “Only on worker nodes” is off for them."
          }
          submit={(sent) => client.clusters.join.mutate(sent)}
          after={told}
        />
      )}
    </Section>
  );
}
