import { z } from "zod";
import type { BuildPack } from "./build-pack.ts";

/** Settings for the name of an application's container. */
export const CONTAINER_NAME_SETTINGS = {
  is_consistent_container_name_enabled: z
    .boolean()
    .default(false)
    .describe("Its container has the same name after every deployment. Only on servers with Docker."),
  custom_internal_name: z
    .string()
    // Other containers use the name as a host name, and a host label has at most 63 characters.
    .max(63, "At most 63 characters.")
    .regex(/^[A-Za-z0-9][\w.-]+$/, "At least two letters, digits and . _ -, beginning with a letter or digit.")
    .nullable()
    .default(null)
    .describe("The container's name with is_consistent_container_name_enabled. Default: the application's uuid."),
};

interface NamedApplication {
  readonly uuid: string;
  readonly settings: {
    readonly build_pack: BuildPack;
    readonly is_consistent_container_name_enabled: boolean;
    readonly custom_internal_name: string | null;
  };
}

/** The container name that all deployments of the application use; `undefined`: each deployment has its own. */
export function lastingContainerName({ uuid, settings }: NamedApplication, pullRequestId = 0): string | undefined {
  // Containers of a compose file are named by the file or by Berth. A preview runs beside the application, so it
  // cannot share its name.
  const hasOne = settings.build_pack !== "dockercompose" && pullRequestId === 0;
  if (!settings.is_consistent_container_name_enabled || !hasOne) return undefined;
  return settings.custom_internal_name ?? uuid;
}
