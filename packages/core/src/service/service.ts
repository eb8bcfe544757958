import { z } from "zod";

/** Settings of a service that no query filters by, stored in one `jsonb` column. */
export const ServiceSettings = z.object({
  connect_to_docker_network: z.boolean().default(false).describe("Join the network of its destination too."),
  is_container_label_escape_enabled: z.boolean().default(true).describe("Escape $ in container labels."),
});
export type ServiceSettings = z.infer<typeof ServiceSettings>;

/**
 * A compose file may contain passwords, so all of it is a secret: encrypted at rest, left out of answers without
 * `read:sensitive`.
 */
export const ServiceSecrets = z.object({
  /** As its owner wrote it. */
  docker_compose_raw: z.string().default(""),
  /** As it is started: with Berth's names and networks. */
  docker_compose: z.string().nullable().default(null),
});
export type ServiceSecrets = z.infer<typeof ServiceSecrets>;

/** Only applications have URLs. */
export type ServiceContainerKind = "application" | "database";
