import { Code, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Folder } from "./folder.ts";
import { type Recognised as Found, recognise } from "./recognise.ts";

/** What the chosen folder is recognised as. */
export function Recognised({ folder }: { readonly folder: Folder }) {
  const [found, setFound] = useState<Found>();
  useEffect(() => {
    let isCurrent = true;
    recognise(folder)
      .catch((error: Error) => ({ detected: undefined, commands: [], notes: [error.message] }))
      .then((answer) => isCurrent && setFound(answer));
    return () => {
      isCurrent = false;
    };
  }, [folder]);
  if (found === undefined) return null;
  return (
    <Stack gap="xs">
      {found.detected !== undefined && (
        <Text>
          Recognised as <b>{found.detected}</b>
        </Text>
      )}
      {found.commands.length > 0 && <Code block>{found.commands.join("\n")}</Code>}
      {found.notes.map((note) => (
        <Text key={note} size="sm" c="dimmed">
          {note}
        </Text>
      ))}
    </Stack>
  );
}
