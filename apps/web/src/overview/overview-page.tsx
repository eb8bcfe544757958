import { Group, Loader, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { InSlices } from "../parts/in-slices.tsx";
import { TextLink } from "../parts/link.tsx";
import { NewLink } from "../parts/new-link.tsx";
import { Empty, PageTitle, Problem } from "../parts/page.tsx";
import { RunStatus } from "../parts/state.tsx";
import { Elapsed } from "../parts/time.tsx";
import { attentionOf } from "../resource/attention.ts";
import { ResourceTable } from "../resource/resource-table.tsx";
import { usageText, useUsage } from "../resource/usage.ts";
import { AttentionList } from "./attention-list.tsx";

export function OverviewPage() {
  const resources = useQuery(trpc.resources.summaries.queryOptions({}));
  const servers = useQuery(trpc.servers.list.queryOptions({}));
  const projects = useQuery(trpc.projects.list.queryOptions({}));
  const active = useQuery(trpc.deployments.list.queryOptions({}));
  const usage = useUsage();
  const failure = resources.error ?? servers.error ?? projects.error;
  const all = resources.data ?? [];
  if (failure !== null) return <Problem error={failure} retry={() => void resources.refetch()} />;
  if (resources.data === undefined || projects.data === undefined || servers.data === undefined) {
    return <Loader size="sm" aria-label="Loading" />;
  }
  const attention = attentionOf(all, servers.data, new Date());
  return (
    <InSlices>
      <PageTitle title="Overview" actions={<NewLink>New</NewLink>} />
      <Stack gap="lg">
        {all.length > 0 && <AttentionList items={attention} />}
        {(active.data ?? []).length > 0 && (
          <section aria-label="Under way">
            <Title order={2} mb="xs">
              Under way
            </Title>
            <Stack gap={4}>
              {active.data?.map((deployment) => (
                <Paper key={deployment.deployment_uuid} withBorder px="sm" py={6}>
                  <Group gap="sm">
                    <RunStatus status={deployment.status} />
                    <TextLink to="/deployments/$uuid" params={{ uuid: deployment.deployment_uuid }} size="sm">
                      Deployment of {deployment.application_name}
                    </TextLink>
                    <Text size="sm" c="dimmed">
                      <Elapsed from={deployment.started_at ?? deployment.created_at} to={null} />
                    </Text>
                  </Group>
                </Paper>
              ))}
            </Stack>
          </section>
        )}
        {all.length === 0 && (
          <Paper withBorder>
            <Empty
              title="Nothing is deployed yet"
              action={<NewLink>Deploy something</NewLink>}
              command="berth deploy ."
            >
              Berth runs applications from a git repository, a folder or an image, databases, and services of several
              containers. Drop a folder to begin, or type the command below in one.
            </Empty>
          </Paper>
        )}
        {projects.data.map((project) => {
          const own = all.filter(({ project_uuid }) => project_uuid === project.uuid);
          return (
            <section key={project.uuid} aria-label={project.name}>
              <Group justify="space-between" mb={4}>
                <Title order={2} className="break">
                  <TextLink to="/projects/$uuid" params={{ uuid: project.uuid }} inherit dir="auto">
                    {project.name}
                  </TextLink>
                </Title>
                <Group gap="xs">
                  <Text size="sm" c="dimmed" title="CPU and memory of all that runs">
                    {usageText(usage, own)}
                  </Text>
                  <NewLink place={{ project: project.uuid }} variant="subtle" aria-label={`New in ${project.name}`}>
                    New
                  </NewLink>
                </Group>
              </Group>
              <Paper withBorder px="xs">
                <ResourceTable
                  label={`Resources of ${project.name}`}
                  place={{ project: project.uuid }}
                  resources={own}
                  usage={usage}
                />
              </Paper>
            </section>
          );
        })}
      </Stack>
    </InSlices>
  );
}
