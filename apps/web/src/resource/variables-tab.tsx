import { databaseIn, EnvCreate, referencesIn } from "@berth/core/env";
import { Anchor, Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Outputs } from "../api/client.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { AsCode } from "../parts/as-code.tsx";
import { HiddenSecret } from "../parts/confirmation.tsx";
import { CopyText } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { DeployAgain } from "./deploy-again.tsx";
import { plurals } from "./kinds.ts";
import { callsOf, queriesOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";
import { isWritable, textOfVariables, variablesOfText } from "./variables-text.ts";

type Variable = Outputs["applications"]["envs"]["list"][number];

const FIELDS: readonly FieldGroup[] = [
  { fields: ["key", "value", "comment"] },
  { title: "Where it is set", fields: ["is_runtime", "is_buildtime", "is_preview"] },
  { title: "How it is shown", fields: ["is_shown_once", "is_multiline", "is_literal"] },
];
const NEW = { is_runtime: true, is_buildtime: true };

export default function VariablesTab({ resource }: PanelProps) {
  const { kind, uuid } = resource;
  const [edited, setEdited] = useState<Variable | "new" | "text">();
  const query = useQuery(queriesOf(kind).envs.list.queryOptions({ uuid }));
  const calls = callsOf(kind).envs;
  const close = () => setEdited(undefined);
  const columns: readonly Column<Variable>[] = [
    {
      header: "Name",
      cell: (variable) => (
        <Anchor
          component="button"
          type="button"
          underline="hover"
          className="mono break"
          onClick={() => setEdited(variable)}
        >
          {variable.key}
        </Anchor>
      ),
    },
    { header: "Value", cell: (variable) => <Value variable={variable} /> },
    { header: "About", isExtra: true, cell: (variable) => aboutOf(variable).join(", ") },
    {
      header: "Action",
      cell: (variable) => (
        <ActionButton
          size="compact-xs"
          question={`Delete ${variable.key}?`}
          work={() => calls.delete.mutate({ uuid, env_uuid: variable.uuid })}
        >
          Delete
        </ActionButton>
      ),
    },
  ];
  return (
    <Section
      title="Variables"
      about="A change takes effect with the next deployment; a restart is enough for what no build reads. A value may refer to a shared one: {{ project.KEY }}."
      actions={
        <>
          <DeployAgain resource={resource} />
          <AllowedButton variant="default" onClick={() => setEdited("text")} disabled={query.data === undefined}>
            Edit as text
          </AllowedButton>
          <AllowedButton onClick={() => setEdited("new")}>New variable</AllowedButton>
        </>
      }
    >
      <Loaded query={query}>
        {(variables) => (
          <>
            <DataTable
              label="Variables"
              // Copies for previews are shown only for applications from a repository.
              rows={variables.filter(({ is_preview }) => !is_preview || resource.application?.source === "git")}
              columns={columns}
              keyOf={(variable) => variable.uuid}
              textOf={({ key, comment }) => `${key} ${comment ?? ""}`}
              empty={
                <Empty title="No variables yet" command="berth env set KEY=value">
                  What an application reads from its environment: addresses, passwords, switches. Berth itself sets
                  PORT.
                </Empty>
              }
            />
            <Dialog opened={edited === "text"} onClose={close} title="Variables as text" size="xl">
              <AsText resource={resource} variables={variables} close={close} />
            </Dialog>
          </>
        )}
      </Loaded>
      <Dialog
        opened={edited !== undefined && edited !== "text"}
        onClose={close}
        title={typeof edited === "object" ? edited.key : "New variable"}
        size="lg"
      >
        {edited === "new" && (
          <SchemaForm
            schema={EnvCreate}
            groups={FIELDS}
            values={NEW}
            isNew
            submitLabel="Add variable"
            submit={(sent) => calls.create.mutate({ uuid, ...sent })}
            after={close}
          />
        )}
        {typeof edited === "object" && (
          <SchemaForm
            schema={EnvCreate}
            groups={EDITED_FIELDS}
            values={{ ...edited, value: edited.value ?? "" }}
            fixed={{ key: edited.key, is_preview: edited.is_preview }}
            submitLabel="Save variable"
            submit={(sent) => calls.update.mutate({ uuid, ...sent })}
            after={close}
          />
        )}
      </Dialog>
    </Section>
  );
}

/** Name and preview flag identify a variable, so they cannot be edited. */
const EDITED_FIELDS: readonly FieldGroup[] = [
  { fields: ["value", "comment"] },
  { title: "Where it is set", fields: ["is_runtime", "is_buildtime"] },
  { title: "How it is shown", fields: ["is_shown_once", "is_multiline", "is_literal"] },
];

function Value({
  variable: { value, is_shown_once, is_really_required, is_shared, reference_problem },
}: {
  readonly variable: Variable;
}) {
  if (is_shown_once)
    return (
      <Text size="sm" c="dimmed">
        Never shown again
      </Text>
    );
  if (value === undefined) return <HiddenSecret />;
  if (reference_problem)
    return (
      <>
        <CopyText text={value ?? ""} />
        <Text size="sm" c="red">
          {reference_problem}
        </Text>
      </>
    );
  if (is_really_required)
    return (
      <Text size="sm" c="red">
        Required, and still empty
      </Text>
    );
  if (value === null || value === "")
    return (
      <Text size="sm" c="dimmed">
        Empty
      </Text>
    );
  return <CopyText text={value} isSecret={!is_shared} />;
}

/** Where the shared parts of a value come from. */
function originsOf({ value = null, is_shared }: Variable): readonly string[] {
  const origins = referencesIn([value]).map((reference) => {
    const database = databaseIn(reference);
    return database === undefined
      ? `${reference.key} of the ${reference.scope}`
      : `the ${database.property === "url" ? "URL" : database.property} of the database ${database.name}`;
  });
  if (origins.length > 0) return [`from ${origins.join(" and ")}`];
  return is_shared ? ["shared value"] : [];
}

const aboutOf = (variable: Variable): readonly string[] => [
  ...(variable.comment === null ? [] : [variable.comment]),
  ...originsOf(variable),
  ...(variable.is_preview ? ["previews only"] : []),
  ...(variable.is_buildtime && !variable.is_runtime ? ["build only"] : []),
  ...(variable.is_runtime && !variable.is_buildtime ? ["run time only"] : []),
];

function AsText({
  resource: { kind, uuid },
  variables,
  close,
}: PanelProps & {
  readonly variables: readonly Variable[];
  readonly close: () => void;
}) {
  const calls = callsOf(kind).envs;
  // Variables for previews, and those whose value is hidden, cannot be edited as text and stay unchanged.
  const editable = variables.filter((variable) => {
    const { is_preview, is_shown_once, value } = variable;
    return !is_preview && !is_shown_once && value !== undefined && isWritable(variable);
  });
  const [text, setText] = useState(() => textOfVariables(editable));
  const { wrong, entries } = variablesOfText(text);
  const changed = entries.filter(
    ({ key, value }) => (editable.find((each) => each.key === key)?.value ?? undefined) !== value,
  );
  const removed = editable.filter(({ key }) => !entries.some((entry) => entry.key === key));
  const setting = {
    operation: `${plurals[kind]}.envs.updateBulk`,
    // As an example, while nothing is changed.
    input: { uuid, data: changed.length > 0 ? changed : entries },
  };
  const deletions = removed.map((variable) => ({
    operation: `${plurals[kind]}.envs.delete`,
    input: { uuid, env_uuid: variable.uuid },
  }));
  const { isBusy, run } = useAction(async () => {
    if (changed.length > 0) await calls.updateBulk.mutate({ uuid, data: changed });
    for (const variable of removed) await calls.delete.mutate({ uuid, env_uuid: variable.uuid });
  }, close);
  const [request = setting, ...others] = [...(changed.length > 0 ? [setting] : []), ...deletions];
  return (
    <Stack>
      <Textarea
        label="One KEY=value a line"
        description="Lines that begin with # are skipped. A value of several lines stands in double quotes."
        rows={16}
        value={text}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        error={wrong}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Group>
        <Button
          disabled={isBusy || wrong !== undefined || changed.length + removed.length === 0}
          onClick={() => void run()}
        >
          {isBusy ? "Working …" : "Save variables"}
        </Button>
        <AsCode {...request} further={others} />
        <Text size="sm" c="dimmed">
          {changed.length} to set, {removed.length} to delete
        </Text>
      </Group>
    </Stack>
  );
}
