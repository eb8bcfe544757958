import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { client, type Outputs } from "../api/client.ts";
import { ActionButton, notify, useAction } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { Empty, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { bytes } from "../parts/units.ts";

type CleanupOperation = NonNullable<Outputs["servers"]["cleanUp"]["operations"]>[number];

const COLUMNS: readonly Column<CleanupOperation>[] = [
  { header: "What", cell: ({ type, name, id }) => `${type} ${name ?? id.slice(0, 19)}` },
  { header: "Frees", cell: ({ size_bytes }) => (size_bytes === null ? "–" : bytes(size_bytes)) },
  { header: "Why", cell: ({ reason }) => reason },
];

/** Shows what would be removed before anything is. */
export default function CleanupTab({ uuid }: { readonly uuid: string }) {
  const [plan, setPlan] = useState<readonly CleanupOperation[]>();
  const look = useAction(
    () => client.servers.cleanUp.mutate({ uuid, dry_run: true }),
    ({ operations = [] }) => setPlan(operations),
  );
  const total = (plan ?? []).reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0);
  return (
    <Section title="Cleanup" about="Removes containers, images and networks that nothing uses any more.">
      <Stack align="flex-start">
        <AllowedButton variant="default" disabled={look.isBusy} onClick={() => void look.run()}>
          {look.isBusy ? "Looking …" : "Show what would be removed"}
        </AllowedButton>
        {plan !== undefined && (
          <div style={{ width: "100%" }}>
            <DataTable
              label="What would be removed"
              rows={plan}
              columns={COLUMNS}
              keyOf={({ type, id }) => `${type} ${id}`}
              textOf={({ name, id }) => name ?? id}
              empty={<Empty title="Nothing to remove" />}
            />
            {plan.length > 0 && (
              <ActionButton
                mt="sm"
                variant="filled"
                work={() => client.servers.cleanUp.mutate({ uuid })}
                after={({ message }) => {
                  notify(message);
                  setPlan(undefined);
                }}
              >
                Remove them{total > 0 ? ` and free ${bytes(total)}` : ""}
              </ActionButton>
            )}
          </div>
        )}
        <Text size="sm" c="dimmed">
          Progress is under Jobs.
        </Text>
      </Stack>
    </Section>
  );
}
