import { ResourceMove } from "@berth/core/resource";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { z } from "zod";
import { trpc } from "../api/client.ts";
import { notify } from "../parts/action.tsx";
import { SchemaForm } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { callsOf } from "./operations.ts";
import type { ShownResource } from "./resource.ts";

/** The form asks for the project first, whose environments are then offered. */
const MoveForm = ResourceMove.extend({ project_uuid: z.string().describe("A project of the team.") });
const FIELDS = [{ fields: ["project_uuid", "environment_uuid", "force"] }];

export function MoveSection({ resource }: { readonly resource: ShownResource }) {
  const { kind, uuid, project_uuid: ownProject, environment_uuid: ownEnvironment } = resource;
  const [project, setProject] = useState(ownProject);
  const projects = useQuery(trpc.projects.list.queryOptions({})).data ?? [];
  const environments = useQuery(trpc.projects.get.queryOptions({ uuid: project })).data?.environments ?? [];
  const others = environments.filter((each) => each.uuid !== ownEnvironment);
  return (
    <Section
      title="Move to another environment"
      about="What runs continues. Shared variables and databases of the new environment count from the next deployment on."
    >
      <SchemaForm
        // A chosen environment does not belong to another project.
        key={`${ownEnvironment} ${project}`}
        schema={MoveForm}
        groups={FIELDS}
        values={{ project_uuid: project }}
        isNew
        choices={{
          project_uuid: projects.map((each) => ({ value: each.uuid, label: each.name })),
          environment_uuid: others.map((each) => ({ value: each.uuid, label: each.name })),
        }}
        onValues={({ project_uuid }) => {
          if (typeof project_uuid === "string") setProject(project_uuid);
        }}
        submitLabel="Move"
        submit={(sent) => {
          const { project_uuid: _, ...move } = sent;
          return callsOf(kind).move.mutate({ uuid, ...move });
        }}
        after={({ message }) => notify(message)}
      />
    </Section>
  );
}
