import { Stack, Text } from "@mantine/core";
import { reloadAt } from "../api/session.ts";
import { PageTitle } from "../parts/page.tsx";
import SecondFactorSection from "./second-factor-section.tsx";

/** In place of every page, where the team requires a second factor that the person lacks. */
export default function SecondFactorNeeded() {
  return (
    <Stack>
      <PageTitle title="One more step">
        <Text size="sm">This team requires a second factor. Set one up to continue.</Text>
      </PageTitle>
      <SecondFactorSection done={() => reloadAt("/")} />
    </Stack>
  );
}
