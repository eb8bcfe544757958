const resource = () => import("./resource/resource-page.tsx");

/** Files of the pages behind the sign-in, by the first part of their address. */
export const PAGES = {
  "": () => import("./overview/overview-page.tsx"),
  projects: () => import("./project/project-page.tsx"),
  applications: resource,
  databases: resource,
  services: resource,
  deployments: () => import("./deployment/deployment-page.tsx"),
  new: () => import("./new/new-page.tsx"),
  servers: () => import("./server/servers-page.tsx"),
  team: () => import("./team/team-page.tsx"),
  account: () => import("./account/account-page.tsx"),
};
