import { Skeleton, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { type ComponentType, type LazyExoticComponent, lazy, Suspense } from "react";
import { trpc } from "../api/client.ts";
import { PageTitle } from "../parts/page.tsx";
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
  const { tab = "members" } = useParams({ from: "/shell/team/{-$tab}" });
  const navigate = useNavigate();
  const { data: team } = useQuery(trpc.teams.current.queryOptions());
  return (
    <>
      <PageTitle title={team?.name ?? "Team"}>
        <Text c="dimmed" size="sm">
          {team?.description}
        </Text>
      </PageTitle>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(next) => navigate({ to: "/team/{-$tab}", params: { tab: next ?? undefined } })}
      >
        <Tabs.List className="tabs-list" mb="md">
          {TEAM_TABS.map(({ name, title }) => (
            <Tabs.Tab key={name} value={name}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TEAM_TABS.map(({ name }) => {
          const Panel = PANELS[name];
          return (
            <Tabs.Panel key={name} value={name}>
              <Suspense fallback={<Skeleton h={120} />}>
                <Panel />
              </Suspense>
            </Tabs.Panel>
          );
        })}
      </Tabs>
    </>
  );
}
