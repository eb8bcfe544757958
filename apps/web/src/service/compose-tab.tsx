import { Button, Group, Stack } from "@mantine/core";
import { useState } from "react";
import { client, type Outputs } from "../api/client.ts";
import { notify, useAction } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { AsCode } from "../parts/as-code.tsx";
import { HiddenSecret } from "../parts/confirmation.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Editor } from "../parts/lazy.tsx";
import { Section } from "../parts/page.tsx";
import { DeployAgain } from "../resource/deploy-again.tsx";
import type { PanelProps } from "../resource/panel.ts";
import { ChangeList } from "./change-list.tsx";

type Changes = NonNullable<Outputs["services"]["update"]["changes"]>;

export default function ComposeTab({ resource }: PanelProps) {
  const saved = resource.service?.docker_compose_raw;
  const [edited, setText] = useState<string>();
  const [changes, setChanges] = useState<Changes>();
  const { uuid } = resource;
  const text = edited ?? saved ?? "";
  const check = useAction(
    () => client.services.update.mutate({ uuid, docker_compose_raw: text, dry_run: true }),
    (answer) => setChanges(answer.changes),
  );
  const save = useAction(
    () => client.services.update.mutate({ uuid, docker_compose_raw: text }),
    () => {
      setChanges(undefined);
      setText(undefined);
      notify("Saved. It takes effect with the next start.");
    },
  );
  if (typeof saved !== "string") {
    return (
      <Section title="Compose file" about="It may contain secrets.">
        <HiddenSecret />
      </Section>
    );
  }
  const isChanged = text !== saved;
  return (
    <Section
      title="Compose file"
      about="What would change is shown before anything does. Escape and then Tab leaves the editor."
      actions={<DeployAgain resource={resource} />}
    >
      <Stack>
        <Editor key={saved} label="Compose file" text={saved} onChange={setText} />
        <Group>
          <AllowedButton disabled={!isChanged || check.isBusy} onClick={() => void check.run()}>
            {check.isBusy ? "Checking …" : "Show what would change"}
          </AllowedButton>
          <AsCode operation="services.update" input={{ uuid, docker_compose_raw: text }} />
        </Group>
      </Stack>
      <Dialog opened={changes !== undefined} onClose={() => setChanges(undefined)} title="What would change" size="lg">
        {changes !== undefined && (
          <Stack>
            <ChangeList changes={changes} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setChanges(undefined)}>
                Back to the editor
              </Button>
              <AllowedButton disabled={save.isBusy} onClick={() => void save.run()}>
                {save.isBusy ? "Saving …" : "Save"}
              </AllowedButton>
            </Group>
          </Stack>
        )}
      </Dialog>
    </Section>
  );
}
