import { Button, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { type FormEvent, type ReactNode, useDeferredValue, useEffect, useId, useMemo, useState } from "react";
import type { z } from "zod";
import { problemOf, queryClient } from "../api/client.ts";
import { useCodeMode } from "../api/code-mode.ts";
import { type RecordedCall, recordedCall } from "../api/recording.ts";
import { notify } from "./action.tsx";
import { AllowedButton, type Needs, useRefusal } from "./allowed.tsx";
import { CodeDialog } from "./as-code.tsx";
import { confirmed } from "./confirmation.tsx";
import { type Choices, changedFields, fieldOf, type Placeholders } from "./field.ts";
import { FieldInput } from "./field-input.tsx";
import { Problem } from "./page.tsx";

export interface FieldGroup {
  readonly title?: string;
  readonly fields: readonly string[];
  /** Shows the field only if this is true for the entered values. */
  readonly when?: (values: Values) => boolean;
}
export type Values = Readonly<Record<string, unknown>>;
export interface FormProps<Schema extends z.ZodObject, Result> {
  readonly schema: Schema;
  readonly groups: readonly FieldGroup[];
  /** Name of a field where the form says the rest, such as its channel. */
  readonly nameOf?: (name: string) => string;
  /** Current values; for a new object the defaults. */
  readonly values: Values;
  /** Values that are always sent and never entered, such as the place. */
  readonly fixed?: Values;
  readonly isNew?: boolean;
  readonly choices?: Choices;
  readonly placeholders?: Placeholders;
  /** Its name in the typed client, such as `applications.create`, where `submit` sends something else first. */
  readonly operation?: string;
  /** Whether the form sends one request of the typed client, which can be shown as code. Default: true. */
  readonly hasCode?: boolean;
  readonly submitLabel: string;
  /** What the operation needs. Default: `write`. */
  readonly needs?: Needs;
  /** Text beside the button: when the change takes effect. */
  readonly note?: ReactNode;
  /** Called with the entered values, for choices that depend on them. */
  readonly onValues?: (values: Values) => void;
  readonly submit: (sent: z.output<Schema>) => Promise<Result>;
  readonly after?: (result: Result) => unknown;
}

/** A form whose fields, help and rules come from a schema of core. */
export function SchemaForm<Schema extends z.ZodObject, Result>(props: FormProps<Schema, Result>) {
  const {
    schema,
    groups,
    values,
    fixed = {},
    isNew = false,
    choices = {},
    hasCode = true,
    note,
    submit,
    after,
  } = props;
  const id = useId();
  const refusal = useRefusal(props.needs === undefined ? "write" : props.needs);
  const fields = useMemo(() => {
    const names = groups.flatMap((group) => group.fields).filter((name) => name in schema.shape);
    return new Map(names.map((name) => [name, fieldOf(name, schema.shape[name] as z.ZodType)]));
  }, [schema, groups]);
  const [edits, setEdits] = useState<Values>({});
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  // A long form is drawn from the top: what is below the window follows without blocking it.
  const drawnGroups = useDeferredValue(groups.length, groupsAtOnce(groups));
  const now = { ...values, ...edits };
  const all = [...fields.values()];
  const changed = isNew ? changedFields(all, {}, now) : changedFields(all, values, now);
  const sent = { ...fixed, ...Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined)) };
  const isChanged = isNew || Object.keys(changed).length > 0;
  const { onValues } = props;
  // The values change only by user input.
  useEffect(() => onValues?.(now), [edits, onValues]);
  useUnsavedWarning(!isNew && isChanged);

  const [code, setCode] = useState<RecordedCall>();
  const isCodeMode = useCodeMode() && hasCode;
  // What is shown as code may still miss fields. It is not sent, so no operation reads it.
  const showCode = () => {
    const call = codeOf(props.operation, sent, () => submit(sent as z.output<Schema>));
    setCode(call);
    setFailure(call === undefined ? new Error("Correct what is entered first.") : undefined);
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (isCodeMode) return showCode();
    if (refusal !== undefined) return;
    const checked = schema.safeParse(sent);
    const { extra, own } = checked.success ? { extra: [], own: {} } : sortIssues(checked.error, fields);
    setErrors(own);
    setFailure(extra.length > 0 ? new Error(extra.join(" ")) : undefined);
    if (Object.keys(own).length > 0) focusFirst(id, own);
    if (!checked.success) return;
    setBusy(true);
    try {
      const result = await confirmed(() => submit(checked.data));
      setEdits({});
      if (!isNew) notify("Saved.");
      await after?.(result);
      void queryClient.invalidateQueries();
    } catch (error) {
      const refused = Object.entries(problemOf(error)?.errors ?? {}).filter(([name]) => fields.has(name));
      setErrors(Object.fromEntries(refused.map(([name, messages]) => [name, [messages].flat().join(" ")])));
      // What is shown at its field is not said twice.
      const isShown = refused.length > 0 && refused.length === Object.keys(problemOf(error)?.errors ?? {}).length;
      setFailure(isShown ? undefined : error);
    } finally {
      setBusy(false);
    }
  };

  return (
    <form onSubmit={save} noValidate aria-label={props.submitLabel} aria-busy={drawnGroups < groups.length}>
      <Stack gap="md">
        {groups
          .slice(0, drawnGroups)
          .filter(({ when }) => when?.(now) ?? true)
          .map((group, index) => (
            <div key={group.title ?? index}>
              {group.title !== undefined && (
                <Title order={3} mb={6}>
                  {group.title}
                </Title>
              )}
              <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="sm">
                {group.fields.map((name) => {
                  const field = fields.get(name);
                  if (field === undefined) return null;
                  return (
                    <FieldInput
                      key={name}
                      id={`${id}-${name}`}
                      field={field}
                      name={props.nameOf?.(name) ?? name}
                      choices={choices[name]}
                      placeholder={props.placeholders?.[name]}
                      value={now[name]}
                      error={errors[name]}
                      isChanged={!isNew && name in changed}
                      onChange={(value) => setEdits((before) => ({ ...before, [name]: value }))}
                    />
                  );
                })}
              </SimpleGrid>
            </div>
          ))}
        {failure !== undefined && <Problem error={failure} />}
        <Group gap="sm">
          <AllowedButton type="submit" needs={props.needs} disabled={isBusy || !isChanged}>
            {isBusy ? "Working …" : props.submitLabel}
          </AllowedButton>
          {!isNew && isChanged && (
            <Button variant="default" onClick={() => setEdits({})}>
              Discard
            </Button>
          )}
          {hasCode && (
            <Button variant="subtle" onClick={showCode}>
              As code
            </Button>
          )}
          <CodeDialog call={code} onClose={() => setCode(undefined)} />
          {note !== undefined && (
            <Text size="sm" c="dimmed" component="div">
              {note}
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}

const codeOf = (operation: string | undefined, input: Values, submit: () => Promise<unknown>) =>
  operation === undefined ? recordedCall(submit) : { operation, input };

/** About as many as a window shows below the head of a page. */
const FIELDS_AT_ONCE = 10;

/** Number of groups that have at most `FIELDS_AT_ONCE` fields together; at least one. */
function groupsAtOnce(groups: readonly FieldGroup[]): number {
  let fields = 0;
  const rest = groups.findIndex((group) => {
    fields += group.fields.length;
    return fields > FIELDS_AT_ONCE;
  });
  return rest === -1 ? groups.length : Math.max(1, rest);
}

function sortIssues({ issues }: z.ZodError, fields: ReadonlyMap<string, unknown>) {
  const own: Record<string, string> = {};
  const extra: string[] = [];
  for (const { path, message, code } of issues) {
    const name = String(path[0] ?? "");
    const text = code === "invalid_type" ? "This field is required." : message;
    if (fields.has(name)) own[name] ??= text;
    else extra.push(name === "" ? text : `${name}: ${text}`);
  }
  return { own, extra };
}

function focusFirst(id: string, errors: Readonly<Record<string, string>>): void {
  const [first = ""] = Object.keys(errors);
  document.getElementById(`${id}-${first}`)?.focus();
}

/** Makes the browser ask before closing a page with unsaved changes. */
function useUnsavedWarning(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [isUnsaved]);
}
