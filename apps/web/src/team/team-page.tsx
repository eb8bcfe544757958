import { Skeleton, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { trpc } from "../api/client.ts";
import { PageTitle } from "../parts/page.tsx";

const TABS = [
  { name: "members", title: "Members", Panel: lazy(() => import("./members-tab.tsx")) },
  { name: "tokens", title: "Tokens", Panel: lazy(() => import("./tokens-tab.tsx")) },
  { name: "keys", title: "Keys", Panel: lazy(() => import("./keys-tab.tsx")) },
  { name: "registries", title: "Registries", Panel: lazy(() => import("./registries-tab.tsx")) },
  { name: "storages", title: "S3 storages", Panel: lazy(() => import("./storages-tab.tsx")) },
  { name: "clouds", title: "Cloud tokens", Panel: lazy(() => import("./clouds-tab.tsx")) },
  { name: "git", title: "Git hosts", Panel: lazy(() => import("./git-hosts-tab.tsx")) },
  { name: "variables", title: "Shared variables", Panel: lazy(() => import("./shared-variables-tab.tsx")) },
  { name: "notifications", title: "Notifications", Panel: lazy(() => import("./notifications-tab.tsx")) },
  { name: "sign-in", title: "Sign-in", Panel: lazy(() => import("./sign-in-tab.tsx")) },
  { name: "activity", title: "Activity", Panel: lazy(() => import("./activity-tab.tsx")) },
] as const;

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
          {TABS.map(({ name, title }) => (
            <Tabs.Tab key={name} value={name}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {TABS.map(({ name, Panel }) => (
          <Tabs.Panel key={name} value={name}>
            <Suspense fallback={<Skeleton h={120} />}>
              <Panel />
            </Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
