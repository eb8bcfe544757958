import { defaultServers, ENGINES, whereItRuns } from "@berth/core/server";
import { Select, SimpleGrid, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { client, trpc } from "../api/client.ts";
import type { NewPlace } from "../parts/new-link.tsx";
import { useUsableServers } from "../resource/usable-servers.ts";

export interface PlacementInput {
  readonly project_uuid: string;
  readonly environment_name: string;
  readonly server_uuid: string;
}
export interface SourceProps {
  /** The place for the code example. */
  readonly place: PlacementInput;
  /** Returns the place, and creates the project if it is new. */
  readonly resolvePlace: () => Promise<PlacementInput>;
}

const NEW_PROJECT = "";
const FIRST_ENVIRONMENT = "production"; // Created with every project.

/** Where a new thing goes: chosen once, for every source alike. */
export function usePlace({ project, environment: firstEnvironment }: NewPlace) {
  const projects = useQuery(trpc.projects.list.queryOptions({})).data;
  const servers = useUsableServers();
  const [chosenProject, setProject] = useState(project);
  const [chosenEnvironment, setEnvironment] = useState(firstEnvironment);
  const [chosenServer, setServer] = useState<string>();
  const [projectName, setProjectName] = useState("My project");
  const projectUuid = chosenProject ?? projects?.[0]?.uuid ?? NEW_PROJECT;
  const environments =
    useQuery({ ...trpc.projects.get.queryOptions({ uuid: projectUuid }), enabled: projectUuid !== NEW_PROJECT }).data
      ?.environments ?? [];
  const environment = chosenEnvironment ?? environments[0]?.name ?? FIRST_ENVIRONMENT;
  const server =
    servers?.find(({ uuid }) => uuid === chosenServer) ?? defaultServers(servers ?? [], { needsContainers: false })[0];

  const resolve = async (): Promise<PlacementInput> => {
    const made = projectUuid === NEW_PROJECT ? await client.projects.create.mutate({ name: projectName }) : undefined;
    if (made !== undefined) setProject(made.uuid);
    return { project_uuid: made?.uuid ?? projectUuid, environment_name: environment, server_uuid: server?.uuid ?? "" };
  };
  const shown: PlacementInput = {
    project_uuid: projectUuid,
    environment_name: environment,
    server_uuid: server?.uuid ?? "",
  };
  const fields = (
    <>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Select
          label="Project"
          data={[
            ...(projects ?? []).map(({ uuid, name }) => ({ value: uuid, label: name })),
            { value: NEW_PROJECT, label: "New project …" },
          ]}
          value={projectUuid}
          allowDeselect={false}
          onChange={(chosen) => {
            setProject(chosen ?? NEW_PROJECT);
            setEnvironment(undefined); // Another project has others.
          }}
        />
        {projectUuid === NEW_PROJECT ? (
          <TextInput
            label="Name of the project"
            value={projectName}
            onChange={(event) => setProjectName(event.currentTarget.value)}
          />
        ) : (
          <Select
            label="Environment"
            data={environments.length === 0 ? [environment] : environments.map(({ name }) => name)}
            value={environment}
            allowDeselect={false}
            onChange={(chosen) => setEnvironment(chosen ?? undefined)}
          />
        )}
        <Select
          label="Server"
          data={(servers ?? []).map(({ uuid, name }) => ({ value: uuid, label: name }))}
          value={server?.uuid ?? null}
          allowDeselect={false}
          onChange={(chosen) => setServer(chosen ?? undefined)}
        />
      </SimpleGrid>
      {server !== undefined && (
        <Text size="sm" c="dimmed" mt={6}>
          {whereItRuns(server)}
          {!ENGINES[server.engine].hasContainers && " Databases and services need Docker."}
        </Text>
      )}
    </>
  );
  return { fields, shown, resolve };
}
