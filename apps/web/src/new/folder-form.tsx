import { type Application, ApplicationCreateUpload, namesake } from "@berth/core/application";
import { Group, Stack } from "@mantine/core";
import { useState } from "react";
import { client } from "../api/client.ts";
import { deploy, useOpenCreated } from "../deployment/open-deployment.ts";
import { ActionButton } from "../parts/action.tsx";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { TextLink } from "../parts/link.tsx";
import { Section } from "../parts/page.tsx";
import type { Folder } from "./folder.ts";
import { FolderChoice, uploadFolder } from "./folder-choice.tsx";
import type { SourceProps } from "./place.tsx";
import { Recognised } from "./recognised.tsx";

const FIELDS: readonly FieldGroup[] = [
  { fields: ["name", "build_pack", "domains"] },
  {
    title: "Build and run",
    fields: ["install_command", "build_command", "start_command", "base_directory", "ports_exposes"],
  },
];

type Taken = Pick<Application, "uuid" | "name" | "source" | "environment_name">;

export default function FolderForm({ place, resolvePlace }: SourceProps) {
  const [folder, setFolder] = useState<Folder>();
  const [step, setStep] = useState<string>();
  const [taken, setTaken] = useState<Taken>();
  const open = useOpenCreated("application");
  const choose = (chosen: Folder) => {
    setFolder(chosen);
    setTaken(undefined);
  };
  const uploadTo = async (uuid: string) => {
    setStep("Uploading …");
    await uploadFolder(uuid, folder?.files ?? []);
    return { uuid, ...(await deploy(uuid)) };
  };
  const create = async (sent: Record<string, unknown>) => {
    try {
      setStep("Creating it …");
      const resolved = await resolvePlace();
      const input = ApplicationCreateUpload.parse({ ...sent, ...resolved });
      const found = input.name && namesake(await client.applications.list.query({}), { ...resolved, name: input.name });
      setTaken(found || undefined);
      // The form keeps what was entered only where its work fails.
      if (found) throw new Error(takenName(found));
      const { uuid } = await client.applications.createUpload.mutate(input);
      return await uploadTo(uuid);
    } finally {
      setStep(undefined);
    }
  };
  return (
    <>
      <Section title="Folder">
        <FolderChoice folder={folder} choose={choose} />
        {folder !== undefined && <Recognised folder={folder} />}
      </Section>
      {folder !== undefined && (
        <Section title="Settings" about="All of it can be changed later.">
          <Stack>
            <SchemaForm
              key={folder.name}
              schema={ApplicationCreateUpload}
              groups={FIELDS}
              values={{ name: folder.name, build_pack: "nixpacks", base_directory: "/" }}
              fixed={{ ...place }}
              isNew
              operation="applications.createUpload"
              submitLabel="Deploy"
              note={step}
              submit={create}
              after={open}
            />
            {taken !== undefined && (
              <Group>
                {taken.source === "upload" && (
                  <ActionButton
                    hasCode={false}
                    work={() => uploadTo(taken.uuid).finally(() => setStep(undefined))}
                    after={open}
                  >
                    {`Deploy to ${taken.name}`}
                  </ActionButton>
                )}
                <TextLink to="/applications/$uuid/{-$tab}" params={{ uuid: taken.uuid }}>
                  {`Open ${taken.name}`}
                </TextLink>
              </Group>
            )}
          </Stack>
        </Section>
      )}
    </>
  );
}

function takenName({ name, source, environment_name }: Taken): string {
  const remedy =
    source === "upload"
      ? `Deploy the folder to ${name}, which replaces what it runs and keeps its settings, or enter another name.`
      : "Its code does not come from a folder, so enter another name.";
  return `An application ${name} exists in ${environment_name} already, so nothing was created. ${remedy}`;
}
