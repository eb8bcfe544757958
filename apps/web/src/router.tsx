import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { restoreKept } from "./api/client.ts";
import { isSignedIn, signInFor } from "./api/session.ts";
import { PAGES } from "./pages.ts";
import { NotFound } from "./shell/not-found.tsx";
import { Shell } from "./shell/shell.tsx";

const root = createRootRoute({ notFoundComponent: NotFound });

/** Every page here is for who is signed in. The sign-in is drawn without the router, see `main.tsx`. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  async beforeLoad({ location }) {
    if (!isSignedIn()) throw redirect({ href: signInFor(location.href), reloadDocument: true });
    await restoreKept();
  },
});

const overview = createRoute({
  getParentRoute: () => shell,
  path: "/",
  component: lazyRouteComponent(PAGES[""], "OverviewPage"),
});

const project = createRoute({
  getParentRoute: () => shell,
  path: "/projects/$uuid",
  validateSearch: ({ view }): { view?: "map" | "variables" } =>
    view === "map" || view === "variables" ? { view } : {},
  component: lazyRouteComponent(PAGES.projects, "ProjectPage"),
});

const resources = lazyRouteComponent(PAGES.applications, "ResourcePage");
const application = createRoute({
  getParentRoute: () => shell,
  path: "/applications/$uuid/{-$tab}",
  component: resources,
});
const database = createRoute({ getParentRoute: () => shell, path: "/databases/$uuid/{-$tab}", component: resources });
const service = createRoute({ getParentRoute: () => shell, path: "/services/$uuid/{-$tab}", component: resources });

const deployment = createRoute({
  getParentRoute: () => shell,
  path: "/deployments/$uuid",
  component: lazyRouteComponent(PAGES.deployments, "DeploymentPage"),
});

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const create = createRoute({
  getParentRoute: () => shell,
  path: "/new/{-$source}",
  validateSearch: (search) => ({
    ...(text(search.project) && { project: text(search.project) }),
    ...(text(search.environment) && { environment: text(search.environment) }),
    ...(text(search.template) && { template: text(search.template) }),
  }),
  component: lazyRouteComponent(PAGES.new, "NewPage"),
});

const servers = createRoute({
  getParentRoute: () => shell,
  path: "/servers",
  component: lazyRouteComponent(PAGES.servers, "ServersPage"),
});

const server = createRoute({
  getParentRoute: () => shell,
  path: "/servers/$uuid/{-$tab}",
  component: lazyRouteComponent(() => import("./server/server-page.tsx"), "ServerPage"),
});

const team = createRoute({
  getParentRoute: () => shell,
  path: "/team/{-$tab}",
  component: lazyRouteComponent(PAGES.team, "TeamPage"),
});

const account = createRoute({
  getParentRoute: () => shell,
  path: "/account",
  component: lazyRouteComponent(PAGES.account, "AccountPage"),
});

/** An address that names no page, within the navigation. */
const unknown = createRoute({ getParentRoute: () => shell, path: "$", component: NotFound });

const pages = [
  overview,
  project,
  application,
  database,
  service,
  deployment,
  create,
  servers,
  server,
  team,
  account,
  unknown,
];

export const router = createRouter({
  routeTree: root.addChildren([shell.addChildren(pages)]),
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
