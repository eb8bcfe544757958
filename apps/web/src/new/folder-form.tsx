import { ApplicationCreateUpload } from "@berth/core/application";
import { useState } from "react";
import { client } from "../api/client.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import type { Folder } from "./folder.ts";
import { FolderChoice, uploadFolder } from "./folder-choice.tsx";
import { useOpenCreated } from "./open-deployment.ts";
import type { SourceProps } from "./place.tsx";
import { Recognised } from "./recognised.tsx";

const FIELDS: readonly FieldGroup[] = [
  { fields: ["name", "build_pack", "domains"] },
  {
    title: "Build and run",
    fields: ["install_command", "build_command", "start_command", "base_directory", "ports_exposes"],
  },
];

export default function FolderForm({ place, resolvePlace }: SourceProps) {
  const [folder, setFolder] = useState<Folder>();
  const [step, setStep] = useState<string>();
  const open = useOpenCreated("application");
  const deploy = async (sent: Record<string, unknown>) => {
    try {
      setStep("Creating it …");
      const input = ApplicationCreateUpload.parse({ ...sent, ...(await resolvePlace()) });
      const { uuid } = await client.applications.createUpload.mutate(input);
      setStep("Uploading …");
      await uploadFolder(uuid, folder?.files ?? []);
      const { deployments = [] } = await client.deploy.mutate({ uuid });
      return { uuid, deployment_uuid: deployments[0]?.deployment_uuid };
    } finally {
      setStep(undefined);
    }
  };
  return (
    <>
      <Section title="Folder">
        <FolderChoice folder={folder} choose={setFolder} />
        {folder !== undefined && <Recognised folder={folder} />}
      </Section>
      {folder !== undefined && (
        <Section title="Settings" about="All of it can be changed later.">
          <SchemaForm
            key={folder.name}
            schema={ApplicationCreateUpload}
            groups={FIELDS}
            values={{ name: folder.name, build_pack: "nixpacks", base_directory: "/" }}
            fixed={{ ...place }}
            isNew
            operation={{ id: "create-upload-application", client: "applications.createUpload" }}
            submitLabel="Deploy"
            note={step}
            submit={deploy}
            after={open}
          />
        </Section>
      )}
    </>
  );
}
