import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { NewVersion } from "../application/new-version.tsx";
import { RollbackList } from "../application/rollback-list.tsx";
import { DeploymentTable } from "../deployment/deployment-table.tsx";
import { Empty, Loaded } from "../parts/page.tsx";
import { deploymentsOf } from "./operations.ts";
import type { PanelProps } from "./panel.ts";

const SHOWN = 200;

export default function DeploymentsTab({ resource: { kind, uuid, application } }: PanelProps) {
  const query = useQuery(deploymentsOf(kind, uuid, SHOWN));
  return (
    <Stack>
      {application?.source === "upload" && <NewVersion uuid={uuid} />}
      {kind === "application" && <RollbackList uuid={uuid} />}
      <Loaded query={query}>
        {({ deployments, count }) => (
          <>
            <DeploymentTable
              deployments={deployments}
              empty={
                <Empty title="Never deployed" {...(application && { command: commandFor(application) })}>
                  Each deployment is listed here with its log.
                </Empty>
              }
            />
            {count > deployments.length && (
              <Text size="sm" c="dimmed">
                The newest {deployments.length} of {count}.
              </Text>
            )}
          </>
        )}
      </Loaded>
    </Stack>
  );
}

/** A folder is uploaded only to an application whose code comes from uploads. */
const commandFor = ({ name, source }: { readonly name: string; readonly source: string }): string =>
  source === "upload" ? `berth deploy . --app ${name}` : `berth deploy --app ${name}`;
