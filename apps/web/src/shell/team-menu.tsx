import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { trpc } from "../api/client.ts";

/** The team whose things the page shows. */
export function TeamMenu() {
  const { data: team } = useQuery(trpc.teams.current.queryOptions());
  return (
    <Text size="sm" truncate>
      {team?.name}
    </Text>
  );
}
