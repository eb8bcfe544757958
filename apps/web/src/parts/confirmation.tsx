import { Button, Group, PasswordInput, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type PropsWithChildren, useState, useSyncExternalStore } from "react";
import { client, problemOf, queryClient, trpc } from "../api/client.ts";
import { canUsePasskeys, confirmWithPasskey } from "../passkey/use-passkey.ts";
import { AllowedButton } from "./allowed.tsx";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./page.tsx";

/** The caller that waits for the password or a passkey; receives whether it was given. */
let waiting: ((isGiven: boolean) => void) | undefined;
const listeners = new Set<() => void>();

function wait(next: typeof waiting): void {
  waiting = next;
  for (const listener of listeners) listener();
}

/** Asks for the password or a passkey again. @returns Whether it was given. */
export function askPassword(): Promise<boolean> {
  return new Promise((resolve) => {
    waiting?.(false);
    wait(resolve);
  });
}

/** Runs a sensitive action, and asks for the password or a passkey first if the server requires it. */
export async function confirmed<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (problemOf(error)?.code !== "auth.confirmation_required" || !(await askPassword())) throw error;
    return work();
  }
}

export function PasswordDialog() {
  const answer = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => waiting,
  );
  const end = (isGiven: boolean) => {
    answer?.(isGiven);
    wait(undefined);
  };
  return (
    <Dialog opened={answer !== undefined} onClose={() => end(false)} title="Confirm that it is you" size="sm">
      {answer !== undefined && <PasswordForm end={end} />}
    </Dialog>
  );
}

function PasswordForm({ end }: { readonly end: (isGiven: boolean) => void }) {
  const [password, setPassword] = useState("");
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const { data: passkeys = [] } = useQuery(trpc.auth.passkeys.list.queryOptions());
  const hasPasskey = canUsePasskeys() && passkeys.some(({ origin }) => origin === window.location.origin);
  const run = async (confirm: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await confirm();
      end(true);
      void queryClient.invalidateQueries();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(() => client.auth.confirm.mutate({ password }));
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">For 15 minutes you then see secrets and may do what cannot be undone.</Text>
        <PasswordInput
          label="Password"
          required
          value={password}
          autoComplete="current-password"
          data-autofocus
          visibilityToggleButtonProps={{ "aria-label": "Show what is typed" }}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {failure !== undefined && <Problem error={failure} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => end(false)}>
            Not now
          </Button>
          {hasPasskey && (
            <Button variant="default" disabled={isBusy} onClick={() => void run(confirmWithPasskey)}>
              Use a passkey
            </Button>
          )}
          <Button type="submit" disabled={isBusy}>
            {isBusy ? "Checking …" : "Continue"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** Placeholder for a secret, or for a button that needs one, until the password was given again. */
export const HiddenSecret = ({ children = "Show secrets", ...button }: HiddenSecretProps) => (
  <AllowedButton
    needs="read:sensitive"
    variant="default"
    size="compact-xs"
    {...button}
    onClick={() => void askPassword()}
  >
    {children}
  </AllowedButton>
);
interface HiddenSecretProps extends PropsWithChildren {
  readonly "aria-label"?: string;
}
