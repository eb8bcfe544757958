import { useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { LoadedPage } from "../parts/page.tsx";
import { PageTabs } from "../parts/page-tabs.tsx";
import { kindOfPath, plurals } from "./kinds.ts";
import { useResource } from "./resource.ts";
import { ResourceHeader } from "./resource-header.tsx";
import { tabsOf } from "./tabs.tsx";

/** Page for all kinds of resources: name and status, then the tabs in a fixed order. */
export function ResourcePage() {
  const { uuid = "", tab } = useParams({ strict: false });
  // Of the page that is shown: the address is that of the next one while its script is loaded.
  const kind = kindOfPath(useRouterState({ select: ({ matches }) => matches.at(-1)?.pathname ?? "" }));
  const navigate = useNavigate();
  const query = useResource(kind, uuid);
  return (
    <LoadedPage query={query}>
      {(resource) => (
        <>
          <ResourceHeader resource={resource} />
          <PageTabs
            tabs={tabsOf(kind, resource)}
            open={tab}
            onOpen={(next) => navigate({ to: `/${plurals[kind]}/$uuid/{-$tab}`, params: { uuid, tab: next } })}
            panelOf={({ Panel }) => <Panel resource={resource} />}
          />
        </>
      )}
    </LoadedPage>
  );
}
