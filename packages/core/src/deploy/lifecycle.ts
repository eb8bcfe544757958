import { z } from "zod";
import { lenient } from "../input.ts";

const flag = (about: string) => lenient(z.boolean()).optional().describe(about);

/** Options of a deletion, for all kinds of resources. */
export const ResourceDelete = z.strictObject({
  delete_configurations: flag(
    "Changes nothing: of its configuration a server has only its sites and what lies in its containers, which go in any case. Default true.",
  ),
  delete_volumes: flag("Remove its storages with what is in them. Default true."),
  docker_cleanup: flag(
    "Remove the images that were built or pulled for it. What stays goes with a later cleanup of the server. Default true.",
  ),
  delete_connected_networks: flag(
    "Remove the networks that were made for it, unless something else has joined them; never one of a destination. Default true.",
  ),
});
export type ResourceDelete = z.infer<typeof ResourceDelete>;

export const DatabaseDelete = ResourceDelete.extend({
  force: flag("Also when variables of other resources name it: these get the reference as it stands. Default false."),
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
  force: flag("Also when it runs; builds without any cache."),
  instant_deploy: flag("At once, whatever else is under way."),
});
export type DeploymentStart = z.infer<typeof DeploymentStart>;

export const ResourceStop = z.strictObject({
  docker_cleanup: flag(
    "Clean its server up too, as `POST /servers/{uuid}/cleanup` does: what Berth made there and needs no more. What it needs itself to be started again stays. Default true.",
  ),
});
export type ResourceStop = z.infer<typeof ResourceStop>;

export const ResourceRestart = z.strictObject({
  latest: flag("Pull newer images first. Default false."),
});
export type ResourceRestart = z.infer<typeof ResourceRestart>;
