import { z } from "zod";
import { lenient } from "../input.ts";
import { ResourceDescription, ResourceName } from "../name.ts";
import { PLACE_INPUT } from "../server/place-input.ts";

const flag = (about: string) => lenient(z.boolean()).optional().describe(about);
const compose = (about: string) => z.string().max(COMPOSE_FIELD_LENGTH_MAX).nullable().optional().describe(about);
/** In base64 a compose file is a third longer. */
export const COMPOSE_FIELD_LENGTH_MAX = 1_400_000;

const COMPOSE = {
  docker_compose: compose("The compose file: plain YAML, or base64 of it."),
  docker_compose_raw: compose("Another name for docker_compose."),
};

/** Limit per request. */
const URLS_MAX = 100;

export const ServiceUrl = z
  .strictObject({
    name: z.string().min(1, "This field is required.").max(255).describe("Name of the container in the compose file."),
    url: lenient(z.string().max(8192).nullable())
      .optional()
      .describe("Its URLs, separated by commas; empty or null removes them."),
  })
  .meta({ id: "ServiceUrl", description: "The URLs of one container of a service." });
export type ServiceUrl = z.infer<typeof ServiceUrl>;

const COMMON = {
  description: ResourceDescription.optional().describe("Free text, shown to the team."),
  instant_deploy: flag(
    "Start at once; containers that run and have not changed are kept. If the server's engine cannot run services, nothing is created or changed.",
  ),
  urls: z.array(ServiceUrl).max(URLS_MAX).nullable().optional().describe("URLs of its containers."),
  force_domain_override: flag("Take URLs over from other resources of the team."),
  connect_to_docker_network: flag("Join the network of its destination too. Default false."),
  is_container_label_escape_enabled: flag("Escape $ in container labels. Default true."),
};

const type = z.string().max(255).describe("A one-click service: the type of a template, see GET /services/templates.");

const CREATE = {
  ...PLACE_INPUT,
  name: ResourceName.optional().describe("Default: generated from its type."),
  ...COMMON,
};

export const ServiceCreate = z.strictObject({ ...CREATE, ...COMPOSE, type: type.nullable().optional() });
export type ServiceCreate = z.infer<typeof ServiceCreate>;

export const ServiceCreateOneClick = z.strictObject({
  ...CREATE,
  type: type.min(1, "This field is required."),
});
export type ServiceCreateOneClick = z.infer<typeof ServiceCreateOneClick>;

export const ServiceUpdate = z.strictObject({
  ...COMMON,
  ...COMPOSE,
  name: ResourceName.nullable().optional().describe("Null keeps the name."),
  dry_run: flag("Only return what would change. Default false."),
});
export type ServiceUpdate = z.infer<typeof ServiceUpdate>;
