import { ABILITIES, type Ability, TokenCreate } from "@berth/core/team";
import { Alert, Button, Checkbox, Stack, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { client, type Outputs, trpc } from "../api/client.ts";
import { ActionButton, useAction } from "../parts/action.tsx";
import { AllowedButton } from "../parts/allowed.tsx";
import { AsCode } from "../parts/as-code.tsx";
import { CopyText } from "../parts/copy.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Empty, Loaded, Section } from "../parts/page.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";

type ListedToken = Outputs["tokens"]["list"][number];

/** Explanations of the abilities. */
const MEANING: Readonly<Record<Ability, string>> = {
  root: "everything that its owner may do",
  read: "see everything but secrets",
  "read:sensitive": "see secrets too: passwords, values of variables, logs of builds",
  write: "create, change and delete",
  "write:sensitive": "the same as write, for clients that ask for it by this name",
  deploy: "deploy, start, restart and stop",
  terminal: "open a shell in containers, which shows their secrets",
};

const COLUMNS: readonly Column<ListedToken>[] = [
  { header: "Name", cell: ({ name }) => <span dir="auto">{name}</span> },
  { header: "May", cell: ({ abilities }) => abilities.join(", ") },
  {
    header: "Last used",
    isExtra: true,
    cell: ({ last_used_at }) => (last_used_at === null ? "never" : <Age at={last_used_at} />),
  },
  {
    header: "Ends",
    isExtra: true,
    cell: ({ expires_at }) => (expires_at === null ? "never" : <Age at={expires_at} />),
  },
  {
    header: "Action",
    cell: ({ id, name }) => (
      <ActionButton
        size="compact-xs"
        question={`Revoke ${name}? Programs that use it stop working at once.`}
        work={() => client.tokens.revoke.mutate({ id })}
      >
        Revoke
      </ActionButton>
    ),
  },
];

export default function TokensTab() {
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<string>();
  const query = useQuery(trpc.tokens.list.queryOptions({}));
  const close = () => {
    setMaking(false);
    setMade(undefined);
  };
  return (
    <Section
      title="Tokens"
      about="For programs: the command line, pipelines, scripts. A token is shown once, when it is made."
      actions={<AllowedButton onClick={() => setMaking(true)}>New token</AllowedButton>}
    >
      <Loaded query={query}>
        {(tokens) => (
          <DataTable
            label="Tokens"
            rows={tokens}
            columns={COLUMNS}
            keyOf={({ id }) => id}
            textOf={({ name }) => name}
            empty={
              <Empty title="No tokens" command="berth login">
                One for each program, so that each can be revoked alone.
              </Empty>
            }
          />
        )}
      </Loaded>
      <Dialog opened={isMaking} onClose={close} title="New token" size="lg">
        {made === undefined ? (
          <TokenForm made={setMade} />
        ) : (
          <Alert color="indigo" variant="outline" title="Copy it now: it is not shown again">
            <CopyText text={made} />
          </Alert>
        )}
      </Dialog>
    </Section>
  );
}

/** Midnight after a day, where the reader is. */
const endOf = (day: string): string => {
  const end = new Date(`${day}T00:00:00`);
  end.setDate(end.getDate() + 1);
  // An invalid one is named by the schema.
  return Number.isNaN(end.getTime()) ? day : end.toISOString();
};

function TokenForm({ made }: { readonly made: (token: string) => void }) {
  const [name, setName] = useState("");
  const [abilities, setAbilities] = useState<readonly string[]>(["read"]);
  const [problem, setProblem] = useState<string>();
  const [lastDay, setLastDay] = useState("");
  const sent = {
    name,
    abilities: ABILITIES.filter((ability) => abilities.includes(ability)),
    ...(lastDay === "" ? {} : { expires_at: endOf(lastDay) }),
  };
  const { isBusy, run } = useAction(
    () => client.tokens.create.mutate(sent),
    ({ token }) => made(token),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const checked = TokenCreate.safeParse(sent);
    setProblem(checked.error?.issues[0]?.message);
    if (checked.success) void run();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Name"
          description="What uses it, for example: pipeline of the shop."
          required
          value={name}
          error={problem}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Checkbox.Group label="It may" value={[...abilities]} onChange={setAbilities}>
          <Stack gap={6} mt={6}>
            {ABILITIES.map((ability) => (
              <Checkbox key={ability} value={ability} label={`${ability}: ${MEANING[ability]}`} />
            ))}
          </Stack>
        </Checkbox.Group>
        <TextInput
          type="date"
          label="Last day"
          description="Without one it lasts until it is revoked."
          value={lastDay}
          onChange={(event) => setLastDay(event.currentTarget.value)}
        />
        <div>
          <Button type="submit" disabled={isBusy}>
            {isBusy ? "Working …" : "Make token"}
          </Button>
          <AsCode operation="tokens.create" input={sent} />
        </div>
      </Stack>
    </form>
  );
}
