import { ApplicationCreateUpload } from "@berth/core/application";
import { Button, Group, Stack, Text } from "@mantine/core";
import { type DragEvent, useRef, useState } from "react";
import { client } from "../api/client.ts";
import { sessionHeaders } from "../api/session.ts";
import { type FieldGroup, SchemaForm } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { bytes } from "../parts/units.ts";
import { chosenFolder, droppedFolder, type Folder } from "./folder.ts";
import { useOpenCreated } from "./open-deployment.ts";
import type { SourceProps } from "./place.tsx";
import { gzipped, tarOf } from "./tar.ts";

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
      await upload(uuid, folder?.files ?? []);
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

/** REST takes the archive as it is: a file is nothing that tRPC carries. */
async function upload(uuid: string, files: Folder["files"]): Promise<void> {
  const response = await fetch(`/api/v1/applications/${encodeURIComponent(uuid)}/source`, {
    method: "PUT",
    headers: { "content-type": "application/gzip", ...sessionHeaders() },
    body: await gzipped(tarOf(files)),
  });
  if (response.ok) return;
  const { message } = (await response.json()) as { readonly message: string };
  throw new Error(message);
}

function FolderChoice({
  folder,
  choose,
}: {
  readonly folder: Folder | undefined;
  readonly choose: (folder: Folder) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const dropped = await droppedFolder(event.dataTransfer.items);
    if (dropped !== undefined) choose(dropped);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way beside the button.
    <div
      className={isOver ? "drop drop-over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => void drop(event)}
    >
      <Stack align="center" gap="xs">
        {folder === undefined ? (
          <Text>Drop a folder here</Text>
        ) : (
          <Text>
            <b>{folder.name}</b>: {folder.files.length} files, {bytes(folder.bytes)}
          </Text>
        )}
        <Text size="sm" c="dimmed">
          Without .git, node_modules and what its .gitignore leaves out.
        </Text>
        <Group>
          <Button variant="default" onClick={() => input.current?.click()}>
            {folder === undefined ? "Choose a folder" : "Choose another"}
          </Button>
        </Group>
        <input
          ref={(element) => {
            input.current = element;
            // React does not know the attribute.
            element?.setAttribute("webkitdirectory", "");
          }}
          type="file"
          hidden
          aria-label="Folder"
          onChange={async (event) => {
            const { files } = event.currentTarget;
            if (files !== null && files.length > 0) choose(await chosenFolder(files));
          }}
        />
      </Stack>
    </div>
  );
}
