import { Stack } from "@mantine/core";
import { useState } from "react";
import { deploy, useOpenDeployment } from "../deployment/open-deployment.ts";
import type { Folder } from "../new/folder.ts";
import { FolderChoice, uploadFolder } from "../new/folder-choice.tsx";
import { ActionButton } from "../parts/action.tsx";
import { Section } from "../parts/page.tsx";

/** Uploads a new version of an application's folder and deploys it. */
export function NewVersion({ uuid }: { readonly uuid: string }) {
  const open = useOpenDeployment();
  const [folder, setFolder] = useState<Folder>();
  const deployFolder = async () => {
    await uploadFolder(uuid, folder?.files ?? []);
    return deploy(uuid);
  };
  return (
    <Section
      title="New version"
      about="The folder as it is now. The new version replaces the running one once it is healthy."
    >
      <Stack align="stretch">
        <FolderChoice folder={folder} choose={setFolder} />
        {folder !== undefined && (
          <div>
            <ActionButton variant="filled" hasCode={false} work={deployFolder} after={open}>
              Deploy this folder
            </ActionButton>
          </div>
        )}
      </Stack>
    </Section>
  );
}
