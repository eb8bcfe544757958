import { Button, Menu, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { client, trpc } from "../api/client.ts";
import { reloadAt } from "../api/session.ts";
import { notifyProblem } from "../parts/action.tsx";

/** Menu with the current team and the user's other teams. */
export function TeamMenu() {
  const { data } = useQuery(trpc.auth.current.queryOptions());
  if (data === undefined) return null;
  const { team, teams } = data;
  if (teams.length < 2) {
    return (
      <Text size="sm" truncate dir="auto">
        {team.name}
      </Text>
    );
  }
  const change = async (id: number) => {
    try {
      await client.auth.switchTeam.mutate({ team_id: id });
      reloadAt("/");
    } catch (error) {
      notifyProblem(error);
    }
  };
  return (
    <Menu>
      <Menu.Target>
        <Button variant="default" maw={180}>
          {team.name} ▾
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Team</Menu.Label>
        {teams.map(({ id, name, role }) => (
          <Menu.Item
            key={id}
            role="menuitemradio"
            aria-checked={id === team.id}
            onClick={() => void change(id)}
            rightSection={role}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
