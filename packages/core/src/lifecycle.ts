import { z } from "zod";
import { lenient } from "./input.ts";

const flag = (about: string) => lenient(z.boolean()).optional().describe(about);

/** What goes with a resource of any kind when it is deleted. */
export const ResourceDelete = z.strictObject({
  delete_configurations: flag("Remove its configuration from the server. Default true."),
  delete_volumes: flag("Remove its storages with what is in them. Default true."),
  docker_cleanup: flag("Remove images that nothing uses any more. Default true."),
  delete_connected_networks: flag("Remove networks that nothing uses any more. Default true."),
});
export type ResourceDelete = z.infer<typeof ResourceDelete>;

export const DeploymentStart = z.strictObject({
  force: flag("Also when it runs; builds without any cache."),
  instant_deploy: flag("At once, whatever else is under way."),
});
export type DeploymentStart = z.infer<typeof DeploymentStart>;

export const ResourceStop = z.strictObject({
  docker_cleanup: flag("Remove images that nothing uses any more. Default true."),
});

export const ResourceRestart = z.strictObject({
  latest: flag("Pull newer images first. Default false."),
});
export type ResourceRestart = z.infer<typeof ResourceRestart>;
