import { Button, Code, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { CopyButton } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { exampleOf, type Language, type Route } from "./example.ts";
import { Loaded } from "./page.tsx";

/** An operation's name in the API description and in the typed client. */
export interface OperationExample {
  readonly id: string;
  readonly client: string;
}

const LANGUAGES = ["berth", "curl", "TypeScript"] as const;

/** Shows the same action as code, since everything in the dashboard is also available to programs. */
export function AsCode({
  operation,
  input,
}: {
  readonly operation: OperationExample;
  readonly input: Readonly<Record<string, unknown>>;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="subtle" onClick={() => setOpen(true)}>
        As code
      </Button>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title="The same by a program" size="lg">
        <Examples operation={operation} input={input} />
      </Dialog>
    </>
  );
}

function Examples({
  operation,
  input,
}: {
  readonly operation: OperationExample;
  readonly input: Readonly<Record<string, unknown>>;
}) {
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
          const route = found.get(operation.id);
          const text =
            route && exampleOf(language, { route, client: operation.client, input, origin: location.origin });
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

async function readRoutes(): Promise<ReadonlyMap<string, Route>> {
  const response = await fetch("/api/v1/openapi.json");
  const { paths } = (await response.json()) as {
    readonly paths: Readonly<
      Record<
        string,
        Readonly<Record<string, { readonly operationId?: string; readonly parameters?: Route["parameters"] }>>
      >
    >;
  };
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId = "", parameters = [] }]) =>
        [operationId, { method: method.toUpperCase(), path, parameters }] as const,
    ),
  );
  return new Map(routes);
}
