import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import { trpc } from "../api/client.ts";
import { PageTitle } from "../parts/page.tsx";
import { PageTabs } from "../parts/page-tabs.tsx";
import { TEAM_TABS } from "./tabs.ts";

const PANELS: Readonly<Record<(typeof TEAM_TABS)[number]["name"], LazyExoticComponent<ComponentType>>> = {
  members: lazy(() => import("./members-tab.tsx")),
  tokens: lazy(() => import("./tokens-tab.tsx")),
  keys: lazy(() => import("./keys-tab.tsx")),
  registries: lazy(() => import("./registries-tab.tsx")),
  storages: lazy(() => import("./storages-tab.tsx")),
  clouds: lazy(() => import("./clouds-tab.tsx")),
  git: lazy(() => import("./git-hosts-tab.tsx")),
  variables: lazy(() => import("./shared-variables-tab.tsx")),
  notifications: lazy(() => import("./notifications-tab.tsx")),
  "sign-in": lazy(() => import("./sign-in-tab.tsx")),
  activity: lazy(() => import("./activity-tab.tsx")),
};

export function TeamPage() {
  const { tab } = useParams({ from: "/shell/team/{-$tab}" });
  const navigate = useNavigate();
  const { data: team } = useQuery(trpc.teams.current.queryOptions());
  return (
    <>
      <PageTitle title={team?.name ?? "Team"}>
        <Text c="dimmed" size="sm">
          {team?.description}
        </Text>
      </PageTitle>
      <PageTabs
        tabs={TEAM_TABS}
        open={tab}
        onOpen={(next) => navigate({ to: "/team/{-$tab}", params: { tab: next } })}
        panelOf={({ name }) => {
          const Panel = PANELS[name];
          return <Panel />;
        }}
      />
    </>
  );
}
