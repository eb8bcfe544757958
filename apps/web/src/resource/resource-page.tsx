import { Skeleton, Tabs } from "@mantine/core";
import { useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { Suspense, useEffect } from "react";
import { LoadedPage } from "../parts/page.tsx";
import { kindOfPath, plurals } from "./kinds.ts";
import { useResource } from "./resource.ts";
import { ResourceHeader } from "./resource-header.tsx";
import { tabsOf } from "./tabs.tsx";

/** Page for all kinds of resources: name and status, then the tabs in a fixed order. */
export function ResourcePage() {
  const { uuid = "", tab = "overview" } = useParams({ strict: false });
  const kind = kindOfPath(useRouterState({ select: ({ location }) => location.pathname }));
  const navigate = useNavigate();
  const query = useResource(kind, uuid);
  const isShown = query.isSuccess;
  // On narrow screens the open tab may be scrolled out of view. It is looked for once per tab and with the next frame,
  // since the browser has to lay the page out for it.
  useEffect(() => {
    const frame = requestAnimationFrame(() =>
      document.querySelector("[role=tab][aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [tab, isShown]);
  return (
    <LoadedPage query={query}>
      {(resource) => {
        const tabs = tabsOf(kind, resource);
        const open = tabs.find(({ name }) => name === tab) ?? tabs[0];
        return (
          <>
            <ResourceHeader resource={resource} />
            <Tabs
              value={open?.name ?? null}
              onChange={(next) =>
                navigate({
                  to: `/${plurals[kind]}/$uuid/{-$tab}`,
                  params: { uuid, tab: next === "overview" ? undefined : (next ?? undefined) },
                })
              }
              keepMounted={false}
            >
              <Tabs.List className="tabs-list" mb="md">
                {tabs.map(({ name, title }) => (
                  <Tabs.Tab key={name} value={name}>
                    {title}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              {tabs.map(({ name, Panel }) => (
                <Tabs.Panel key={name} value={name}>
                  <Suspense fallback={<Skeleton h={120} />}>
                    <Panel resource={resource} />
                  </Suspense>
                </Tabs.Panel>
              ))}
            </Tabs>
          </>
        );
      }}
    </LoadedPage>
  );
}
