import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { z } from "zod";
import { AllowedButton } from "./allowed.tsx";
import { Dialog } from "./dialog.tsx";
import type { Choices } from "./field.ts";
import { type FieldGroup, SchemaForm, type Values } from "./form.tsx";
import { Loaded, Section } from "./page.tsx";
import { type Column, DataTable } from "./table.tsx";

interface CollectionProps<Row, Schema extends z.ZodObject, Created> {
  readonly title: string;
  readonly about: string;
  readonly query: UseQueryResult<readonly Row[], unknown>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string | number;
  readonly textOf: (row: Row) => string;
  readonly empty: ReactNode;
  /** Form for a new entry. */
  readonly create: {
    readonly label: string;
    readonly schema: Schema;
    readonly groups: readonly FieldGroup[];
    readonly values?: Values;
    readonly choices?: Choices;
    readonly submit: (sent: z.output<Schema>) => Promise<Created>;
    readonly after?: (created: Created) => unknown;
    /** Text above the form. */
    readonly intro?: ReactNode;
  };
}

/** A list of a team's objects, with a form to add one. */
export function Collection<Row, Schema extends z.ZodObject, Created>({
  create,
  ...list
}: CollectionProps<Row, Schema, Created>) {
  const [isAdding, setAdding] = useState(false);
  return (
    <Section
      title={list.title}
      about={list.about}
      actions={<AllowedButton onClick={() => setAdding(true)}>{create.label}</AllowedButton>}
    >
      <Loaded query={list.query}>
        {(rows) => (
          <DataTable
            label={list.title}
            rows={rows}
            columns={list.columns}
            keyOf={list.keyOf}
            textOf={list.textOf}
            empty={list.empty}
          />
        )}
      </Loaded>
      <Dialog opened={isAdding} onClose={() => setAdding(false)} title={create.label} size="lg">
        {create.intro}
        <SchemaForm
          schema={create.schema}
          groups={create.groups}
          values={create.values ?? {}}
          isNew
          {...(create.choices && { choices: create.choices })}
          submitLabel={create.label}
          submit={create.submit}
          after={async (created) => {
            setAdding(false);
            await create.after?.(created);
          }}
        />
      </Dialog>
    </Section>
  );
}
