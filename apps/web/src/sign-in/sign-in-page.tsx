import { Button, Code, Paper, PasswordInput, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { client, type Outputs, problemOf } from "../api/client.ts";
import { openAnew, saveSession } from "../api/session.ts";
import { Loaded, Problem, useDocumentTitle } from "../parts/page.tsx";
import { pathAfterSignIn } from "./path-after.ts";

type SignedIn = Outputs["auth"]["signIn"];

/** Signs in by password, or by a one-time link. Its code is behind `#`, so that it appears in no log. */
export function SignInPage() {
  useDocumentTitle("Sign in");
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const code = new URLSearchParams(hash.replace(/^#/, "")).get("code");
  return (
    <Paper component="main" withBorder p="xl" maw={420} mx="auto" mt="10vh">
      <Title order={1} mb="md">
        Sign in to Berth
      </Title>
      {code === null ? <ByPassword /> : <ByLink code={code} />}
    </Paper>
  );
}

/** Runs a sign-in and then opens the page that was wanted. Who has a second factor is asked for its code, too. */
function useSignIn(work: (secondFactor: string | undefined) => Promise<SignedIn>) {
  const [failure, setFailure] = useState<unknown>();
  const [code, setCode] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      saveSession((await work(code)).key);
      openAnew(pathAfterSignIn(location.search));
    } catch (error) {
      if (code === undefined && problemOf(error)?.code === "auth.second_factor_required") setCode("");
      else setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const codeField = code !== undefined && <CodeField code={code} change={setCode} />;
  return { failure, isBusy, submit, codeField };
}

function ByPassword() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const { failure, isBusy, submit, codeField } = useSignIn((code) =>
    client.auth.signIn.mutate({ email, password, ...(code !== undefined && { code }) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email"
          required
          value={email}
          autoComplete="username"
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordField label="Password" value={password} change={setPassword} autoComplete="current-password" />
        {codeField}
        {failure !== undefined && <Problem error={failure} />}
        <Button type="submit" disabled={isBusy}>
          {isBusy ? "Signing in …" : "Sign in"}
        </Button>
        <Text size="sm" c="dimmed">
          Without a password yet, or forgotten? An administrator makes a link under Team, Members; on Berth's own
          machine <Code>berth login --web</Code> does.
        </Text>
      </Stack>
    </form>
  );
}

const ASKED = {
  choose: "Choose a password",
  enter: "Your password",
  optional: "New password (left empty, the old one stays)",
} as const;

function ByLink({ code }: { readonly code: string }) {
  const link = useQuery({
    queryKey: ["sign-in-link", code],
    queryFn: () => client.auth.inspectLink.mutate({ code }),
    retry: false,
  });
  const [password, setPassword] = useState("");
  const { failure, isBusy, submit, codeField } = useSignIn((second_factor_code) =>
    client.auth.redeemLink.mutate({
      code,
      ...(password !== "" && { password }),
      ...(second_factor_code !== undefined && { second_factor_code }),
    }),
  );
  return (
    <Loaded query={link}>
      {({ name, email, team_name, password: asked }) => (
        <form onSubmit={submit}>
          <Stack>
            <Text size="sm">
              You are <b dir="auto">{name}</b> ({email}) in the team <b dir="auto">{team_name}</b>.
            </Text>
            {/* For password managers, which store it together with the password. */}
            <input type="text" autoComplete="username" value={email} readOnly hidden />
            <PasswordField
              label={ASKED[asked]}
              value={password}
              change={setPassword}
              isRequired={asked !== "optional"}
              autoComplete={asked === "enter" ? "current-password" : "new-password"}
            />
            {codeField}
            {failure !== undefined && <Problem error={failure} />}
            <Button type="submit" disabled={isBusy}>
              {isBusy ? "Signing in …" : "Sign in"}
            </Button>
          </Stack>
        </form>
      )}
    </Loaded>
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

function PasswordField({
  label,
  value,
  change,
  autoComplete,
  isRequired = true,
}: {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly autoComplete: string;
  readonly isRequired?: boolean;
}) {
  return (
    <PasswordInput
      label={label}
      required={isRequired}
      value={value}
      autoComplete={autoComplete}
      visibilityToggleButtonProps={{ "aria-label": "Show what is typed" }}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}
