import { EnvironmentCreate, ProjectUpdate } from "@berth/core/team";
import { Group, Paper, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { client, trpc } from "../api/client.ts";
import { ActionButton, DangerButton } from "../parts/action.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { EnvironmentMap, SharedVariables } from "../parts/lazy.tsx";
import { NewLink } from "../parts/new-link.tsx";
import { LoadedPage, PageTitle, Section } from "../parts/page.tsx";
import { ResourceTable } from "../resource/resource-table.tsx";
import { useUsage } from "../resource/usage.ts";

const SETTINGS = [{ fields: ["name", "description"] }];
const VIEWS = [
  { value: "table", label: "Table" },
  { value: "map", label: "Map" },
  { value: "variables", label: "Variables" },
] as const;
const ENVIRONMENT = [{ fields: ["name"] }];

export function ProjectPage() {
  const { uuid } = useParams({ from: "/shell/projects/$uuid" });
  const { view } = useSearch({ from: "/shell/projects/$uuid" });
  const navigate = useNavigate();
  const project = useQuery(trpc.projects.get.queryOptions({ uuid }));
  const resources = useQuery(trpc.resources.summaries.queryOptions({}));
  const usage = useUsage();
  return (
    <LoadedPage query={project}>
      {({ name, description, environments }) => (
        <>
          <PageTitle
            title={name}
            actions={
              <>
                <SegmentedControl
                  size="xs"
                  aria-label="View"
                  data={[...VIEWS]}
                  value={view ?? "table"}
                  onChange={(chosen) =>
                    navigate({
                      to: "/projects/$uuid",
                      params: { uuid },
                      search: chosen === "table" ? {} : { view: chosen },
                      replace: true,
                    })
                  }
                />
                <NewLink place={{ project: uuid }}>New</NewLink>
              </>
            }
          >
            <Text c="dimmed" size="sm">
              {description}
            </Text>
          </PageTitle>
          <Stack>
            {view === "variables" && (
              <SharedVariables scope="project" owner={{ uuid }} title="Shared variables of the project" />
            )}
            {environments.map((environment) => {
              if (view === "variables")
                return (
                  <SharedVariables
                    key={environment.uuid}
                    scope="environment"
                    owner={{ uuid, environment_name_or_uuid: environment.uuid }}
                    title={`Shared variables of ${environment.name}`}
                  />
                );
              const place = { project: uuid, environment: environment.name };
              const own = (resources.data ?? []).filter(
                ({ environment_uuid }) => environment_uuid === environment.uuid,
              );
              return (
                <section key={environment.uuid} aria-label={environment.name}>
                  <Group justify="space-between" mb={4}>
                    <Title order={2}>{environment.name}</Title>
                    <Group gap="xs">
                      <NewLink place={place} variant="subtle" aria-label={`New in ${environment.name}`}>
                        New
                      </NewLink>
                      {own.length === 0 && environments.length > 1 && (
                        <ActionButton
                          variant="subtle"
                          question={`Delete the environment ${environment.name}?`}
                          work={() =>
                            client.projects.environments.delete.mutate({
                              uuid,
                              environment_name_or_uuid: environment.uuid,
                            })
                          }
                        >
                          Delete
                        </ActionButton>
                      )}
                    </Group>
                  </Group>
                  {view === "map" && own.length > 0 ? (
                    <EnvironmentMap project={uuid} environment={environment} resources={own} />
                  ) : (
                    <Paper withBorder px="xs">
                      <ResourceTable
                        label={`Resources in ${environment.name}`}
                        place={place}
                        resources={own}
                        usage={usage}
                      />
                    </Paper>
                  )}
                </section>
              );
            })}
            <Section title="Settings">
              <SchemaForm
                schema={ProjectUpdate}
                groups={SETTINGS}
                values={{ name, description }}
                submitLabel="Save"
                submit={(sent) => client.projects.update.mutate({ uuid, ...sent })}
              />
            </Section>
            <Section
              title="New environment"
              about="Staging beside production, for example: the same resources with other variables."
            >
              <SchemaForm
                schema={EnvironmentCreate}
                groups={ENVIRONMENT}
                values={{}}
                isNew
                submitLabel="Create environment"
                submit={(sent) => client.projects.environments.create.mutate({ uuid, ...sent })}
              />
            </Section>
            <Section title="Danger zone" about="A project can be deleted once it is empty.">
              <DangerButton
                name={name}
                about="The project and its environments are deleted. They must be empty."
                work={() => client.projects.delete.mutate({ uuid })}
                after={() => navigate({ to: "/" })}
              >
                Delete project
              </DangerButton>
            </Section>
          </Stack>
        </>
      )}
    </LoadedPage>
  );
}
