import { Button, Code, Paper, PasswordInput, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, useSyncExternalStore } from "react";
import { client } from "../api/client.ts";
import { reloadAt, saveSession } from "../api/session.ts";
import { Loaded, Problem, useDocumentTitle } from "../parts/page.tsx";
import { canUsePasskeys, signInWithPasskey } from "../passkey/use-passkey.ts";
import { goToProvider } from "./at-provider.ts";
import { pathAfterSignIn } from "./path-after.ts";
import { SignInForm } from "./sign-in-form.tsx";

/** Signs in by password, or by a one-time link. Its code is behind `#`, so that it appears in no log. */
export function SignInPage() {
  useDocumentTitle("Sign in");
  const hash = useSyncExternalStore(followHash, () => location.hash);
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

function followHash(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

function ByPassword() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  return (
    <SignInForm
      work={(code) => client.auth.signIn.mutate({ email, password, ...(code !== undefined && { code }) })}
      fields={(problem) => (
        <>
          <TextInput
            label="Email"
            required
            value={email}
            autoComplete="username"
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordField
            label="Password"
            value={password}
            change={setPassword}
            autoComplete="current-password"
            problem={problem}
          />
        </>
      )}
    >
      {canUsePasskeys() && <WithPasskey />}
      <AtProviders />
      <MailedLink email={email} />
      <Text size="sm" c="dimmed">
        Without a password yet, or forgotten? An administrator makes a link under Team, Members; on Berth's own machine{" "}
        <Code>berth login --web</Code> does.
      </Text>
    </SignInForm>
  );
}

function WithPasskey() {
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      saveSession((await signInWithPasskey()).key);
      reloadAt(pathAfterSignIn(location.search));
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button variant="default" disabled={isBusy} onClick={run}>
        {isBusy ? "Waiting for your device …" : "Sign in with a passkey"}
      </Button>
      {failure !== undefined && <Problem error={failure} />}
    </>
  );
}

/** For who forgot the password, where Berth can send mail. */
function MailedLink({ email }: { readonly email: string }) {
  const { data } = useQuery({ queryKey: ["sign-in-methods"], queryFn: () => client.auth.methods.query() });
  const [failure, setFailure] = useState<unknown>();
  const [answer, setAnswer] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const request = async () => {
    setBusy(true);
    setFailure(undefined);
    setAnswer(undefined);
    try {
      if (email === "") throw new Error("Enter your email address above first.");
      setAnswer((await client.auth.requestLink.mutate({ email })).message);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  if (data?.mailed_link !== true) return null;
  return (
    <>
      <Button variant="subtle" disabled={isBusy} onClick={request}>
        {isBusy ? "Asking …" : "Mail me a sign-in link"}
      </Button>
      {answer !== undefined && (
        <Text size="sm" role="status">
          {answer}
        </Text>
      )}
      {failure !== undefined && <Problem error={failure} />}
    </>
  );
}

function AtProviders() {
  const { data = [] } = useQuery({
    queryKey: ["sign-in-providers"],
    queryFn: () => client.auth.providers.list.query(),
  });
  const [failure, setFailure] = useState<unknown>();
  return (
    <>
      {data.map(({ uuid, name }) => (
        <Button
          key={uuid}
          variant="default"
          onClick={() => goToProvider(uuid, "sign-in", pathAfterSignIn(location.search)).catch(setFailure)}
        >
          Sign in with {name}
        </Button>
      ))}
      {failure !== undefined && <Problem error={failure} />}
    </>
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
  });
  const [password, setPassword] = useState("");
  return (
    <Loaded query={link}>
      {({ name, email, team_name, password: asked }) => (
        <SignInForm
          work={(second_factor_code) =>
            client.auth.redeemLink.mutate({
              code,
              ...(password !== "" && { password }),
              ...(second_factor_code !== undefined && { second_factor_code }),
            })
          }
          fields={(problem) => (
            <>
              <Text size="sm">
                You are <b dir="auto">{name}</b> ({email}) in the team <b dir="auto">{team_name}</b>.
              </Text>
              {/* For password managers, which keep it together with the password. */}
              <input type="text" autoComplete="username" value={email} readOnly hidden />
              <PasswordField
                label={ASKED[asked]}
                value={password}
                change={setPassword}
                isRequired={asked !== "optional"}
                autoComplete={asked === "enter" ? "current-password" : "new-password"}
                problem={problem}
              />
            </>
          )}
        />
      )}
    </Loaded>
  );
}

function PasswordField({
  label,
  value,
  change,
  autoComplete,
  problem,
  isRequired = true,
}: {
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  readonly autoComplete: string;
  readonly problem: string | undefined;
  readonly isRequired?: boolean;
}) {
  return (
    <PasswordInput
      label={label}
      error={problem}
      required={isRequired}
      value={value}
      autoComplete={autoComplete}
      visibilityToggleButtonProps={{ "aria-label": "Show what is typed" }}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}
