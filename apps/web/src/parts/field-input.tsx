import { NumberInput, PasswordInput, Switch, Textarea, TextInput } from "@mantine/core";
import { Choice } from "./choice.tsx";
import { type Choices, enteredText, type Field } from "./field.ts";
import { labelOf } from "./units.ts";

interface FieldInputProps {
  readonly id: string;
  readonly field: Field;
  /** What its label is made of. */
  readonly name: string;
  readonly value: unknown;
  readonly error: string | undefined;
  readonly choices: Choices[string] | undefined;
  /** What applies while it is empty. */
  readonly placeholder: string | undefined;
  readonly isChanged: boolean;
  readonly onChange: (value: unknown) => void;
}

export function FieldInput({
  id,
  field,
  name,
  value,
  error,
  choices,
  placeholder,
  isChanged,
  onChange,
}: FieldInputProps) {
  const label = labelOf(name.replace(/_uuid$/, ""));
  const shared = {
    id,
    label,
    description: field.about === "" ? undefined : field.about,
    error,
    required: field.isRequired,
    className: isChanged ? "changed" : "",
    autoComplete: "off",
  };
  const text = enteredText(value);
  if (choices !== undefined || field.type === "choice") {
    const data = choices ?? field.options.map((option) => ({ value: option, label: option }));
    return (
      <Choice
        {...shared}
        data={[...data]}
        value={text === "" ? null : text}
        clearable={!field.isRequired}
        searchable={data.length > 8}
        clearButtonProps={{ "aria-label": `Clear ${label}` }}
        onChange={(chosen) => onChange(chosen ?? "")}
      />
    );
  }
  if (field.type === "flag") {
    return (
      <Switch
        {...shared}
        checked={value === true}
        withThumbIndicator
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  if (field.type === "number") {
    return (
      <NumberInput
        {...shared}
        value={typeof value === "number" ? value : text}
        hideControls
        onChange={(entered) => onChange(entered === "" ? "" : Number(entered))}
      />
    );
  }
  if (field.type === "secret") {
    return (
      <PasswordInput
        {...shared}
        autoComplete="new-password"
        placeholder={placeholder}
        value={text}
        visibilityToggleButtonProps={{ "aria-label": `Show ${label}` }}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  if (field.type === "long") {
    return (
      <Textarea
        {...shared}
        autosize={false}
        rows={field.name === "description" ? 2 : 8}
        placeholder={placeholder}
        value={text}
        styles={field.name === "description" ? {} : { input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        spellCheck={false}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return (
    <TextInput
      {...shared}
      placeholder={placeholder}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
