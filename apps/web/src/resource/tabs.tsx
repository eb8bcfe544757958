import type { ResourceKind } from "@berth/core/resource";
import { type ComponentType, type LazyExoticComponent, lazy } from "react";
import type { PanelProps } from "./panel.ts";
import type { ShownResource } from "./resource.ts";

interface Tab {
  readonly name: string;
  readonly title: string;
  readonly Panel: LazyExoticComponent<ComponentType<PanelProps>>;
  readonly kinds?: readonly ResourceKind[];
}

/** Order on every page; each kind shows only the tabs that apply. */
const TABS: readonly Tab[] = [
  { name: "overview", title: "Overview", Panel: lazy(() => import("./overview-tab.tsx")) },
  {
    name: "containers",
    title: "Containers",
    kinds: ["service"],
    Panel: lazy(() => import("../service/containers-tab.tsx")),
  },
  {
    name: "compose",
    title: "Compose file",
    kinds: ["service"],
    Panel: lazy(() => import("../service/compose-tab.tsx")),
  },
  { name: "deployments", title: "Deployments", Panel: lazy(() => import("./deployments-tab.tsx")) },
  { name: "logs", title: "Logs", Panel: lazy(() => import("./logs-tab.tsx")) },
  { name: "terminal", title: "Terminal", Panel: lazy(() => import("./terminal-tab.tsx")) },
  { name: "variables", title: "Variables", Panel: lazy(() => import("./variables-tab.tsx")) },
  {
    name: "domains",
    title: "Domains",
    kinds: ["application"],
    Panel: lazy(() => import("../application/domains-tab.tsx")),
  },
  { name: "domains", title: "Domains", kinds: ["service"], Panel: lazy(() => import("../service/domains-tab.tsx")) },
  { name: "storage", title: "Storage", Panel: lazy(() => import("./storage-tab.tsx")) },
  { name: "tasks", title: "Tasks", kinds: ["application", "service"], Panel: lazy(() => import("./tasks-tab.tsx")) },
  {
    name: "previews",
    title: "Previews",
    kinds: ["application"],
    Panel: lazy(() => import("../application/previews-tab.tsx")),
  },
  { name: "backups", title: "Backups", kinds: ["database"], Panel: lazy(() => import("../database/backups-tab.tsx")) },
  { name: "metrics", title: "Metrics", Panel: lazy(() => import("./metrics-tab.tsx")) },
  { name: "settings", title: "Settings", Panel: lazy(() => import("./settings-tab.tsx")) },
];

export function tabsOf(kind: ResourceKind, { application }: ShownResource): readonly Tab[] {
  const own = TABS.filter(({ kinds }) => kinds?.includes(kind) ?? true);
  // Only applications from a repository have pull requests.
  return application === undefined || application.source === "git"
    ? own
    : own.filter(({ name }) => name !== "previews");
}
