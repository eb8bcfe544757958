import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, type Outputs, trpc } from "../api/client.ts";
import { useOpenDeployment } from "../deployment/open-deployment.ts";
import { ActionButton } from "../parts/action.tsx";
import { Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";

type Kept = Outputs["rollbacks"]["images"]["images"][number];

const IMAGE: Column<Kept> = {
  header: "Image",
  isExtra: true,
  cell: ({ image }) => <span className="mono break">{image ?? "–"}</span>,
};

/** Kept builds, to which an application can be rolled back without a new build. */
export function RollbackList({ uuid }: { readonly uuid: string }) {
  const open = useOpenDeployment();
  const { data } = useQuery(trpc.rollbacks.images.queryOptions({ uuid }));
  if (data === undefined || data.images.length < 2) return null;
  const columns: readonly Column<Kept>[] = [
    { header: "Built", cell: ({ created_at }) => <Age at={created_at} /> },
    {
      header: "Commit",
      cell: ({ tag, commit_message }) => (
        <Text size="sm">
          <span className="mono">{tag?.slice(0, 8) ?? "–"}</span> {commit_message ?? ""}
        </Text>
      ),
    },
    ...(data.images.some(({ image }) => image !== null) ? [IMAGE] : []),
    {
      header: "Action",
      cell: ({ is_current, deployment_uuid }) =>
        is_current ? (
          <Text size="sm">Runs now</Text>
        ) : (
          <ActionButton
            size="compact-xs"
            work={() => client.rollbacks.rollback.mutate({ uuid, commit: deployment_uuid })}
            after={open}
          >
            Roll back to this
          </ActionButton>
        ),
    },
  ];
  return (
    <Section
      title="Roll back"
      about="Kept builds. Rolling back starts one again; nothing is built. The next deployment takes the newest source or image again."
    >
      <DataTable
        label="Kept builds"
        rows={data.images}
        columns={columns}
        keyOf={({ deployment_uuid }) => deployment_uuid}
        empty={null}
      />
    </Section>
  );
}
