import { Group } from "@mantine/core";
import { useMemo } from "react";
import { client } from "../api/client.ts";
import { ActionButton, DangerButton, notify } from "../parts/action.tsx";
import { EditButton } from "../parts/edit-button.tsx";
import type { Values } from "../parts/form.tsx";
import { labelChange, labelLines, labelText } from "./node-labels.ts";
import type { Node } from "./node-state.ts";

/** @param uuid Uuid of the server that manages the cluster. */
export function NodeActions({ uuid, node }: { readonly uuid: string; readonly node: Node }) {
  const input = { uuid, node_id: node.id };
  const change = (fields: Omit<Parameters<typeof client.clusterNodes.update.mutate>[0], "uuid" | "node_id">) => () =>
    client.clusterNodes.update.mutate({ ...input, ...fields });
  const name = node.server_name ?? node.hostname;
  const { server_uuid, labels } = node;
  const isOther = server_uuid !== null && server_uuid !== uuid;
  const schema = useMemo(() => labelLines(labels), [labels]);
  // Also for a text that is being typed, which may break the rules.
  const changeOf = (sent: Values) => ({
    labels: "labels" in sent ? labelChange(labels, typeof sent.labels === "string" ? sent.labels : null) : {},
  });
  return (
    <Group gap={6}>
      {node.availability === "active" ? (
        <ActionButton
          size="compact-xs"
          aria-label={`Drain ${name}`}
          question={`Drain ${name}? Its containers start on other nodes. ${waitingOf(node)}`}
          work={change({ availability: "drain" })}
        >
          Drain
        </ActionButton>
      ) : (
        <ActionButton size="compact-xs" aria-label={`Activate ${name}`} work={change({ availability: "active" })}>
          Activate
        </ActionButton>
      )}
      {isOther && (
        <ActionButton
          size="compact-xs"
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
        <ActionButton size="compact-xs" aria-label={`Promote ${name}`} work={change({ role: "manager" })}>
          Promote
        </ActionButton>
      ) : (
        <ActionButton size="compact-xs" aria-label={`Demote ${name}`} work={change({ role: "worker" })}>
          Demote
        </ActionButton>
      )}
      <EditButton
        aria-label={`Labels of ${name}`}
        title={`Labels: ${name}`}
        schema={schema}
        groups={[{ fields: ["labels"] }]}
        values={{ labels: labelText(labels) }}
        submitLabel="Save labels"
        submit={(sent) => change(changeOf(sent))()}
      >
        Labels
      </EditButton>
      {isOther && <LeaveButton uuid={server_uuid} name={name} node={node} />}
    </Group>
  );
}

/** @param uuid Uuid of the server that leaves. */
function LeaveButton({ uuid, name, node }: { readonly uuid: string; readonly name: string; readonly node: Node }) {
  const after = ({ message }: { readonly message: string }) => notify(message);
  if (node.storages > 0) {
    return (
      <DangerButton
        size="compact-xs"
        name={name}
        about={`${waitingOf(node)} The data stays on the machine, and the cluster forgets it.`}
        work={() => client.clusters.leave.mutate({ uuid, force: true })}
        after={after}
      >
        Leave
      </DangerButton>
    );
  }
  return (
    <ActionButton
      size="compact-xs"
      aria-label={`Let ${name} leave the cluster`}
      question={`Let ${name} leave the cluster? Its containers start on other nodes.`}
      work={() => client.clusters.leave.mutate({ uuid })}
      after={after}
    >
      Leave
    </ActionButton>
  );
}

function waitingOf({ storages, data_of }: Node): string {
  if (storages === 0) return "It has no data of storages.";
  const owners = data_of.length === 0 ? "" : ` (${data_of.map(({ name }) => name).join(", ")})`;
  return `It alone has the data of ${storages === 1 ? "1 storage" : `${storages} storages`}${owners}: what needs it waits for the node.`;
}
