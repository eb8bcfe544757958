import { Anchor, Loader, Paper, Stack, Text, Title } from "@mantine/core";
import { useEffect, useState } from "react";
import { client } from "../api/client.ts";
import { reloadAt } from "../api/session.ts";
import { Problem, useDocumentTitle } from "../parts/page.tsx";
import { forgetProvider, keptForProvider } from "./at-provider.ts";
import { SignInForm } from "./sign-in-form.tsx";

/** Where a provider sends the browser back to. */
export function CallbackPage() {
  useDocumentTitle("Sign in");
  const [kept] = useState(keptForProvider);
  const query = location.search.replace(/^\?/, "");
  return (
    <Paper component="main" withBorder p="xl" maw={420} mx="auto" mt="10vh">
      <Title order={1} mb="md">
        Sign in to Berth
      </Title>
      {kept === undefined || query === "" ? (
        <Stack>
          <Text size="sm">This page belongs to a sign-in that did not begin in this tab.</Text>
          <Anchor href="/sign-in">Sign in</Anchor>
        </Stack>
      ) : kept.purpose === "connect" ? (
        <Connect keyOfPage={kept.key} query={query} to={kept.to} />
      ) : (
        <SignInForm
          begins
          to={kept.to}
          work={async (code) => {
            const signedIn = await client.auth.providers.finish.mutate({
              ...{ key: kept.key, query },
              ...(code !== undefined && { code }),
            });
            forgetProvider();
            return signedIn;
          }}
        >
          <Anchor href="/sign-in" size="sm">
            Sign in another way
          </Anchor>
        </SignInForm>
      )}
    </Paper>
  );
}

function Connect({
  keyOfPage,
  query,
  to,
}: {
  readonly keyOfPage: string;
  readonly query: string;
  readonly to: string;
}) {
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    forgetProvider();
    client.auth.identities.connect.mutate({ key: keyOfPage, query }).then(() => reloadAt(to), setFailure);
  }, [keyOfPage, query, to]);
  if (failure === undefined) return <Loader aria-label="Connecting" />;
  return (
    <Stack>
      <Problem error={failure} />
      <Anchor href={to}>Back</Anchor>
    </Stack>
  );
}
