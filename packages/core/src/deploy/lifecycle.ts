import { z } from "zod";
import { flag } from "../input.ts";

/** Options of a deletion, for all kinds of resources. */
export const ResourceDelete = z.strictObject({
  delete_configurations: flag(
    "No effect: its configuration on the server consists of its sites and containers, which are always removed. Default true.",
  ),
  delete_volumes: flag("Remove its storages with their data. Default true."),
  docker_cleanup: flag(
    "Remove the images that were built or pulled for it; otherwise a later cleanup of the server removes them. Default true.",
  ),
  delete_connected_networks: flag(
    "Remove the networks that were created for it, unless something else has joined them; never one of a destination. Default true.",
  ),
});
export type ResourceDelete = z.infer<typeof ResourceDelete>;

export const DatabaseDelete = ResourceDelete.extend({
  force: flag(
    "Delete it even if variables of other resources reference it: these get the unresolved reference. Default false.",
  ),
});

/** The options for objects of the server other than releases. */
export const REMOVAL_FLAGS = ["delete_volumes", "docker_cleanup", "delete_connected_networks"] as const;
export type RemovalFlags = Readonly<Record<(typeof REMOVAL_FLAGS)[number], boolean>>;

/** @param asked Options that are left out count as true. */
export const removalFlags = (asked: Partial<Record<keyof RemovalFlags, boolean | undefined>>): RemovalFlags => ({
  delete_volumes: asked.delete_volumes ?? true,
  docker_cleanup: asked.docker_cleanup ?? true,
  delete_connected_networks: asked.delete_connected_networks ?? true,
});

export const DeploymentStart = z.strictObject({
  force: flag("Even if it is running; builds the newest source without cache."),
  instant_deploy: flag("Start at once, ignoring other deployments."),
});
export type DeploymentStart = z.infer<typeof DeploymentStart>;

export const ResourceStop = z.strictObject({
  docker_cleanup: flag(
    "Also clean up its server, like `POST /servers/{uuid}/cleanup`. What this resource needs for its next start is kept. Default true.",
  ),
});
export type ResourceStop = z.infer<typeof ResourceStop>;

export const ResourceRestart = z.strictObject({
  latest: flag("Pull newer images first. Default false."),
});
export type ResourceRestart = z.infer<typeof ResourceRestart>;
