import { Button, Group, Stack, Text } from "@mantine/core";
import { type DragEvent, useRef, useState } from "react";
import { rest } from "../api/rest.ts";
import { bytes } from "../parts/units.ts";
import { chosenFolder, droppedFolder, type Folder } from "./folder.ts";
import { gzipped, tarOf } from "./tar.ts";

/** Uploads the archive over REST, since tRPC cannot transfer files. */
export async function uploadFolder(uuid: string, files: Folder["files"]): Promise<void> {
  await rest(`/applications/${encodeURIComponent(uuid)}/source`, {
    method: "PUT",
    headers: { "content-type": "application/gzip" },
    body: await gzipped(tarOf(files)),
  });
}

export function FolderChoice({
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
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is an alternative to the button.
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
            // React does not support the attribute.
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
