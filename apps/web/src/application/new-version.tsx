import { Stack } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { client } from "../api/client.ts";
import type { Folder } from "../new/folder.ts";
import { FolderChoice, uploadFolder } from "../new/folder-choice.tsx";
import { ActionButton } from "../parts/action.tsx";
import { Section } from "../parts/page.tsx";

/** Uploads a new version of an application's folder and deploys it. */
export function NewVersion({ uuid }: { readonly uuid: string }) {
  const navigate = useNavigate();
  const [folder, setFolder] = useState<Folder>();
  const deploy = async () => {
    await uploadFolder(uuid, folder?.files ?? []);
    const { deployments = [] } = await client.deploy.mutate({ uuid });
    return deployments[0]?.deployment_uuid;
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
            <ActionButton
              variant="filled"
              hasCode={false}
              work={deploy}
              after={(queued) =>
                queued !== undefined && navigate({ to: "/deployments/$uuid", params: { uuid: queued } })
              }
            >
              Deploy this folder
            </ActionButton>
          </div>
        )}
      </Stack>
    </Section>
  );
}
