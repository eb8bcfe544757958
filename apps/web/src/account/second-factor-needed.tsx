import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";
import { reloadAt } from "../api/session.ts";
import { ActionButton } from "../parts/action.tsx";
import { PageTitle } from "../parts/page.tsx";
import PasskeysSection from "../passkey/passkeys-section.tsx";
import { canUsePasskeys, confirmWithPasskey } from "../passkey/use-passkey.ts";
import SecondFactorSection from "./second-factor-section.tsx";

/** In place of every page, where the team requires a second factor that the person lacks. */
export default function SecondFactorNeeded() {
  const { data: passkeys = [] } = useQuery(trpc.auth.passkeys.list.queryOptions());
  const done = () => reloadAt("/");
  if (passkeys.length > 0) {
    return (
      <PageTitle title="One more step">
        <Text size="sm" mb="sm">
          This team requires a second factor. Use your passkey to continue. If it is lost, ask an owner of the team to
          reset your second factor.
        </Text>
        <ActionButton needs={null} variant="filled" disabled={!canUsePasskeys()} work={confirmWithPasskey} after={done}>
          Use a passkey
        </ActionButton>
      </PageTitle>
    );
  }
  return (
    <Stack>
      <PageTitle title="One more step">
        <Text size="sm">This team requires a second factor. Set up one of the two to continue.</Text>
      </PageTitle>
      <PasskeysSection done={done} />
      <SecondFactorSection done={done} />
    </Stack>
  );
}
