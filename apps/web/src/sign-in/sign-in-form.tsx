import { Button, Stack, TextInput } from "@mantine/core";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { type Outputs, problemOf } from "../api/client.ts";
import { reloadAt, saveSession } from "../api/session.ts";
import { Problem } from "../parts/page.tsx";
import { pathAfterSignIn } from "./path-after.ts";

type SignedIn = Outputs["auth"]["signIn"];

/**
 * Runs a sign-in and then opens the page that was wanted. Who has a second factor is asked for its code, too.
 * @param begins At once, without anything to enter first.
 * @param fields Shown with the problem of the password, where it was refused.
 */
export function SignInForm({
  work,
  to = pathAfterSignIn(location.search),
  begins = false,
  fields,
  children,
}: {
  readonly work: (secondFactor: string | undefined) => Promise<SignedIn>;
  readonly to?: string;
  readonly begins?: boolean;
  readonly fields?: (passwordProblem: string | undefined) => ReactNode;
  readonly children?: ReactNode;
}) {
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [code, setCode] = useState<string>();
  const run = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      saveSession((await work(code)).key);
      reloadAt(to);
    } catch (error) {
      if (code === undefined && problemOf(error)?.code === "auth.second_factor_required") setCode("");
      else setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const hasBegun = useRef(false);
  useEffect(() => {
    if (!begins || hasBegun.current) return;
    hasBegun.current = true;
    void run();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const passwordProblem = [problemOf(failure)?.errors?.password ?? []].flat().join(" ") || undefined;
  const hasFields = !begins || code !== undefined;
  return (
    <form onSubmit={submit}>
      <Stack>
        {fields?.(passwordProblem)}
        {code !== undefined && <CodeField code={code} change={setCode} />}
        {failure !== undefined && passwordProblem === undefined && <Problem error={failure} />}
        {(hasFields || isBusy) && (
          <Button type="submit" disabled={isBusy}>
            {isBusy ? "Signing in …" : "Sign in"}
          </Button>
        )}
        {children}
      </Stack>
    </form>
  );
}

function CodeField({ code, change }: { readonly code: string; readonly change: (code: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <TextInput
      ref={field}
      label="Code"
      description="The six digits that your authenticator app shows, or a recovery code."
      required
      value={code}
      autoComplete="one-time-code"
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}
