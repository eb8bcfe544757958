import { SharedVariableCreate } from "@berth/core/env";
import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton } from "./action.tsx";
import { Collection } from "./collection.tsx";
import { HiddenSecret } from "./confirmation.tsx";
import { CopyText } from "./copy.tsx";
import { EditButton } from "./edit-button.tsx";
import { STORED } from "./field.ts";
import { Empty } from "./page.tsx";
import { RowActions } from "./row-actions.tsx";
import type { Column } from "./table.tsx";

type Scope = keyof Outputs["sharedVariables"];
type Variable = Outputs["sharedVariables"]["team"]["list"][number];

// All scopes have these operations with the same answers, and with the same inputs beside those that identify the owner,
// made by `variablesOf` of packages/api. TypeScript cannot call a union of overloads, so the team's types are used for all.
const queriesOf = (scope: Scope) => trpc.sharedVariables[scope] as unknown as typeof trpc.sharedVariables.team;
const callsOf = (scope: Scope) => client.sharedVariables[scope] as unknown as typeof client.sharedVariables.team;

/** Scope and inputs that identify the owner. */
type Owner =
  | { readonly scope: "team"; readonly owner?: undefined }
  | { readonly scope: "project" | "server"; readonly owner: { readonly uuid: string } }
  | {
      readonly scope: "environment";
      readonly owner: { readonly uuid: string; readonly environment_name_or_uuid: string };
    };
type SharedVariablesProps = Owner & { readonly title?: string };

const EDITED_FIELDS = [{ fields: ["value", "comment", "is_shown_once"] }];
/** The name identifies a variable, so it cannot be edited. */
const FIELDS = [{ fields: ["key"] }, ...EDITED_FIELDS];

/** The shared variables of a team, project, environment or server. */
export default function SharedVariables({ scope, title = "Shared variables", ...props }: SharedVariablesProps) {
  const owner: object = props.owner ?? {};
  const calls = callsOf(scope);
  const columns: readonly Column<Variable>[] = [
    { header: "Name", cell: ({ key }) => <span className="mono break">{key}</span> },
    { header: "Value", cell: (variable) => <Value variable={variable} /> },
    { header: "Refer to it by", isExtra: true, cell: ({ reference }) => <span className="mono">{reference}</span> },
    {
      header: "Action",
      cell: (variable) => (
        <RowActions>
          <EditButton
            aria-label={`Edit ${variable.key}`}
            title={variable.key}
            schema={SharedVariableCreate}
            groups={EDITED_FIELDS}
            values={{ ...variable }}
            fixed={{ key: variable.key }}
            placeholders={variable.value === undefined ? { value: STORED } : {}}
            submitLabel="Save variable"
            submit={(sent) => calls.update.mutate({ ...owner, ...sent })}
          >
            Edit
          </EditButton>
          <ActionButton
            size="compact-xs"
            aria-label={`Delete ${variable.key}`}
            question={`Delete ${variable.key}?`}
            work={() => calls.delete.mutate({ ...owner, variable_uuid: variable.uuid })}
          >
            Delete
          </ActionButton>
        </RowActions>
      ),
    },
  ];
  return (
    <Collection
      title={title}
      about={`Values that variables of the ${scope}'s applications, databases and services refer to, so that each is changed in one place.`}
      query={useQuery(queriesOf(scope).list.queryOptions(owner))}
      columns={columns}
      keyOf={({ uuid }) => uuid}
      textOf={({ key }) => key}
      empty={<Empty title="No shared variables">Mail servers, licence keys, addresses that many use.</Empty>}
      create={{
        label: "Add a shared variable",
        schema: SharedVariableCreate,
        groups: FIELDS,
        submit: (sent) => calls.create.mutate({ ...owner, ...sent }),
      }}
    />
  );
}

function Value({ variable: { value, is_shown_once } }: { readonly variable: Variable }) {
  if (is_shown_once)
    return (
      <Text size="sm" c="dimmed">
        Never shown again
      </Text>
    );
  return value === undefined ? <HiddenSecret /> : <CopyText text={value ?? ""} isSecret />;
}
