import { Button, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { client, queryClient } from "../api/client.ts";
import { forgetSession, saveToken } from "../api/session.ts";
import { Problem, useDocumentTitle } from "../parts/page.tsx";
import { pathAfterSignIn } from "./path-after.ts";

export function SignInPage() {
  useDocumentTitle("Sign in");
  const router = useRouter();
  const [token, setToken] = useState("");
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const signIn = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    saveToken(token.trim());
    try {
      await client.teams.current.query();
      queryClient.clear();
      router.history.replace(pathAfterSignIn(location.search));
    } catch (error) {
      forgetSession();
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Paper component="main" withBorder p="xl" maw={420} mx="auto" mt="10vh">
      <Title order={1} mb="xs">
        Sign in to Berth
      </Title>
      <Text c="dimmed" size="sm" mb="md">
        With a token of your team. `npm start` prints the first one.
      </Text>
      <form onSubmit={signIn}>
        <Stack>
          <PasswordInput
            label="Token"
            required
            value={token}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ "aria-label": "Show token" }}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
          {failure !== undefined && <Problem error={failure} />}
          <Button type="submit" disabled={isBusy || token.trim() === ""}>
            {isBusy ? "Signing in …" : "Sign in"}
          </Button>
        </Stack>
      </form>
    </Paper>
  );
}
