import { SharedVariableCreate } from "@berth/core/env";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "../parts/action.tsx";
import { Collection } from "../parts/collection.tsx";
import { HiddenSecret } from "../parts/confirmation.tsx";
import { CopyText } from "../parts/copy.tsx";
import { Empty } from "../parts/page.tsx";
import type { Column } from "../parts/table.tsx";

type Variable = Outputs["sharedVariables"]["team"]["list"][number];
const FIELDS = [{ fields: ["key", "value", "comment"] }];

const COLUMNS: readonly Column<Variable>[] = [
  { header: "Name", cell: ({ key }) => <span className="mono">{key}</span> },
  {
    header: "Value",
    cell: ({ value }) => (typeof value === "string" ? <CopyText text={value} isSecret /> : <HiddenSecret />),
  },
  { header: "Refer to it by", isExtra: true, cell: ({ key }) => <span className="mono">{`{{ team.${key} }}`}</span> },
  {
    header: "Action",
    cell: ({ uuid, key }) => (
      <ActionButton
        size="compact-xs"
        question={`Delete ${key}?`}
        work={() => client.sharedVariables.team.delete.mutate({ variable_uuid: uuid })}
      >
        Delete
      </ActionButton>
    ),
  },
];

export default function SharedVariablesTab() {
  return (
    <Collection
      title="Shared variables"
      about="A value that variables of applications, databases and services refer to, so that it is changed in one place."
      query={useQuery(trpc.sharedVariables.team.list.queryOptions({}))}
      columns={COLUMNS}
      keyOf={({ uuid }) => uuid}
      textOf={({ key }) => key}
      empty={<Empty title="No shared variables">Mail servers, licence keys, addresses that many use.</Empty>}
      create={{
        label: "Add a shared variable",
        schema: SharedVariableCreate,
        groups: FIELDS,
        submit: (sent) => client.sharedVariables.team.create.mutate(sent),
      }}
    />
  );
}
