import { Button, Code, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { RecordedCall } from "../api/recording.ts";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { exampleOf, type Language, type Route } from "./example.ts";
import { Loaded } from "./page.tsx";

const LANGUAGES = ["berth", "curl", "TypeScript"] as const;

/**
 * Shows the same action as code, since everything in the dashboard is also available to programs.
 * @param further What the same action sends after it.
 */
export function AsCode({ further = [], ...call }: RecordedCall & { readonly further?: readonly RecordedCall[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="subtle" onClick={() => setOpen(true)}>
        As code
      </Button>
      <CodeDialog call={isOpen ? call : undefined} further={further} onClose={() => setOpen(false)} />
    </>
  );
}

/** @param call Shown as code; `undefined`: the dialog is closed. */
export const CodeDialog = ({
  call,
  further = [],
  onClose,
}: {
  readonly call: RecordedCall | undefined;
  readonly further?: readonly RecordedCall[];
  readonly onClose: () => void;
}) => (
  <Dialog opened={call !== undefined} onClose={onClose} title="The same by a program" size="lg">
    {call !== undefined && <Examples calls={[call, ...further]} />}
  </Dialog>
);

function Examples({ calls }: { readonly calls: readonly RecordedCall[] }) {
  const [language, setLanguage] = useState<Language>("berth");
  const routes = useQuery({ queryKey: ["description"], queryFn: readRoutes, staleTime: Number.POSITIVE_INFINITY });
  return (
    <Stack>
      <SegmentedControl
        aria-label="Language"
        data={[...LANGUAGES]}
        value={language}
        onChange={(chosen) => setLanguage(LANGUAGES.find((each) => each === chosen) ?? "berth")}
      />
      <Loaded query={routes}>
        {(found) => {
          const described = calls.flatMap(({ operation, input }) => {
            const route = found.get(operation);
            return route === undefined ? [] : [{ route, client: operation, input, origin: location.origin }];
          });
          const text = described.length === calls.length ? exampleOf(language, ...described) : undefined;
          return (
            <>
              <Code block tabIndex={0} aria-label={`${language} example`}>
                {text ?? "This operation is not in the description."}
              </Code>
              <Group justify="space-between">
                <Text size="sm" c="dimmed">
                  Secrets are placeholders. Make a token under Team, Tokens.
                </Text>
                {text !== undefined && <CopyButton text={text} />}
              </Group>
            </>
          );
        }}
      </Loaded>
    </Stack>
  );
}

/** The routes of the API description, by the name of their operation. */
async function readRoutes(): Promise<ReadonlyMap<string, Route>> {
  const response = await fetch("/api/v1/openapi.json");
  const { paths } = (await response.json()) as { readonly paths: Readonly<Record<string, Described>> };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], ...operation }]) => ({
      ...{ isOld: operation.deprecated === true, name: operation["x-berth-operation"] ?? "" },
      route: { method: method.toUpperCase(), path, parameters },
    })),
  );
  // The last of equal names counts, and old routes are shown only for what has no other.
  const oldFirst = routes.sort((a, b) => Number(b.isOld) - Number(a.isOld));
  return new Map(oldFirst.map(({ name, route }) => [name, route]));
}

type Described = Readonly<
  Record<
    string,
    {
      readonly "x-berth-operation"?: string;
      readonly deprecated?: boolean;
      readonly parameters?: Route["parameters"];
    }
  >
>;
