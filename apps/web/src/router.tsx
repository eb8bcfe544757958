import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { restoreKept } from "./api/client.ts";
import { isSignedIn } from "./api/session.ts";
import { NotFound } from "./shell/not-found.tsx";

const root = createRootRoute({ notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./sign-in/sign-in-page.tsx"), "SignInPage"),
});

const callback = createRoute({
  getParentRoute: () => root,
  path: "/sign-in/callback",
  component: lazyRouteComponent(() => import("./sign-in/callback-page.tsx"), "CallbackPage"),
});

/** Everything else is for who is signed in. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: lazyRouteComponent(() => import("./shell/shell.tsx"), "Shell"),
  async beforeLoad({ location }) {
    if (!isSignedIn()) throw redirect({ to: "/sign-in", search: { to: location.href } });
    await restoreKept();
  },
});

const overview = createRoute({
  getParentRoute: () => shell,
  path: "/",
  component: lazyRouteComponent(() => import("./overview/overview-page.tsx"), "OverviewPage"),
});

const project = createRoute({
  getParentRoute: () => shell,
  path: "/projects/$uuid",
  validateSearch: (search): { view?: "map" } => (search.view === "map" ? { view: "map" } : {}),
  component: lazyRouteComponent(() => import("./project/project-page.tsx"), "ProjectPage"),
});

const resources = lazyRouteComponent(() => import("./resource/resource-page.tsx"), "ResourcePage");
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
  component: lazyRouteComponent(() => import("./deployment/deployment-page.tsx"), "DeploymentPage"),
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
  component: lazyRouteComponent(() => import("./new/new-page.tsx"), "NewPage"),
});

const servers = createRoute({
  getParentRoute: () => shell,
  path: "/servers",
  component: lazyRouteComponent(() => import("./server/servers-page.tsx"), "ServersPage"),
});

const server = createRoute({
  getParentRoute: () => shell,
  path: "/servers/$uuid/{-$tab}",
  component: lazyRouteComponent(() => import("./server/server-page.tsx"), "ServerPage"),
});

const team = createRoute({
  getParentRoute: () => shell,
  path: "/team/{-$tab}",
  component: lazyRouteComponent(() => import("./team/team-page.tsx"), "TeamPage"),
});

const account = createRoute({
  getParentRoute: () => shell,
  path: "/account",
  component: lazyRouteComponent(() => import("./account/account-page.tsx"), "AccountPage"),
});

const pages = [overview, project, application, database, service, deployment, create, servers, server, team, account];

export const router = createRouter({
  routeTree: root.addChildren([signIn, callback, shell.addChildren(pages)]),
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
