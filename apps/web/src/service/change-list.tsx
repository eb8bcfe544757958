import { Alert, Stack, Text, Title } from "@mantine/core";
import type { Outputs } from "../api/client.ts";

type Changes = NonNullable<Outputs["services"]["update"]["changes"]>;
type Change = "added" | "changed" | "removed";
const SIGNS: Readonly<Record<Change, string>> = { added: "+", changed: "~", removed: "−" };

/** Changes that saving a compose file would make: containers, variables, storages, URLs and replacements. */
export function ChangeList({ changes }: { readonly changes: Changes }) {
  const parts = [
    {
      title: "Containers",
      lines: changes.containers.map(({ name, change, fields }) => ({
        change,
        text: fields.length === 0 ? name : `${name}: ${fields.join(", ")}`,
      })),
    },
    { title: "Variables", lines: changes.variables.map(({ key, change }) => ({ change, text: key })) },
    {
      title: "Storages",
      lines: changes.storages.map(({ container, mount_path, change }) => ({
        change,
        text: `${container ?? ""} ${mount_path}`,
      })),
    },
    {
      title: "URLs",
      lines: changes.urls.map(({ container, before, after }) => ({
        change: "changed" as const,
        text: `${container}: ${before.join(" ") || "none"} → ${after.join(" ") || "none"}`,
      })),
    },
  ].filter(({ lines }) => lines.length > 0);
  return (
    <Stack gap="sm">
      {parts.length === 0 && <Text size="sm">Nothing: only the formatting differs.</Text>}
      {parts.map(({ title, lines }) => (
        <div key={title}>
          <Title order={3}>{title}</Title>
          {lines.map(({ change, text }) => (
            <Text key={text} size="sm" className="mono break">
              {SIGNS[change]} {text}
            </Text>
          ))}
        </div>
      ))}
      {changes.needs_deployment && (
        <Text size="sm">
          {changes.replacement.mode === "stop_first" ? "With a pause: " : "Without a pause: "}
          {changes.replacement.reason}
        </Text>
      )}
      {changes.warnings.map((warning) => (
        <Alert key={warning} color="orange" variant="outline" title={warning} />
      ))}
    </Stack>
  );
}
