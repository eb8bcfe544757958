import { z } from "zod";
import type { BuildPack } from "./build-pack.ts";

/** Settings for the name of an application's container. */
export const CONTAINER_NAME_SETTINGS = {
  is_consistent_container_name_enabled: z
    .boolean()
    .default(false)
    .describe("Its container is called the same after every deployment, on a server with Docker."),
  custom_internal_name: z
    .string()
    // Other containers use it as a host name, which has at most so many characters.
    .max(63, "At most 63 characters.")
    .regex(/^[A-Za-z0-9][\w.-]+$/, "Two or more letters, digits and . _ -, of which the first is a letter or digit.")
    .nullable()
    .default(null)
    .describe("With is_consistent_container_name_enabled: that name. Default: the application's uuid."),
};

interface NamedApplication {
  readonly uuid: string;
  readonly settings: {
    readonly build_pack: BuildPack;
    readonly is_consistent_container_name_enabled: boolean;
    readonly custom_internal_name: string | null;
  };
}

/** The name that its container has whatever deployment made it; `undefined`: each has one of its own. */
export function lastingContainerName({ uuid, settings }: NamedApplication, pullRequestId = 0): string | undefined {
  // Those of a compose file are called as the file and Berth call them; a preview runs beside the application.
  const hasOne = settings.build_pack !== "dockercompose" && pullRequestId === 0;
  if (!settings.is_consistent_container_name_enabled || !hasOne) return undefined;
  return settings.custom_internal_name ?? uuid;
}
