import { z } from "zod";
import { flag, inputShape, lenient } from "../input.ts";
import { ResourceDescription, ResourceName } from "../name.ts";
import { PLACE_INPUT } from "../server/place-input.ts";
import { COMPOSE_FIELD_LENGTH_MAX } from "../service/service-input.ts";
import { ApplicationSecrets, ApplicationSettings } from "./application.ts";

const { build_pack: _buildPack, ...settings } = ApplicationSettings.shape;
const DEFAULTS = ApplicationSettings.parse({ build_pack: "nixpacks" });

/** Build packs that a request may choose. Images are created by another operation. */
const BuildPack = z
  .enum(["nixpacks", "railpack", "static", "dockerfile", "dockercompose"])
  .describe("How the source is built. nixpacks and railpack detect its type.");

const Domains = lenient(z.string().max(2048, "At most 2048 characters.").nullable())
  .optional()
  .describe(
    "The application's URLs, separated by commas, such as `https://shop.example`. Answers have them in `fqdn`.",
  );

const COMMON = {
  name: ResourceName.optional().describe("Default: generated from its source."),
  description: ResourceDescription.optional().describe("Free text, shown to the team."),
  domains: Domains,
  instant_deploy: flag("Deploy at once. When the queue is full, nothing is created or changed."),
  force_domain_override: flag("Take URLs over from other resources of the team."),
};

const PLACE = {
  ...PLACE_INPUT,
  autogenerate_domain: flag("Generate a URL if none is sent. Default true."),
  type: z.string().max(255).optional().describe("Accepted and ignored."),
  private_key_uuid: lenient(z.string().max(255).nullable())
    .optional()
    .describe("Private key for reading its repository."),
  github_app_uuid: z.string().max(255).optional().describe("Accepted and ignored."),
};

/** The content of a whole file is stored untrimmed, as secrets are. */
const isTrimmed = (key: string) => key !== "custom_nginx_configuration";

/** All fields that shape an application. Creations accept all of them, whatever the source. */
const SECRETS = inputShape(ApplicationSecrets.shape);
const SETTINGS = { ...inputShape(settings, {}, isTrimmed), ...SECRETS };
const SETTINGS_WITH_DEFAULTS = { ...inputShape(settings, DEFAULTS, isTrimmed), ...SECRETS };

const CREATE = { ...PLACE, ...COMMON, ...SETTINGS_WITH_DEFAULTS, build_pack: BuildPack.optional() };

export const ApplicationCreatePublic = z.strictObject({
  ...CREATE,
  git_repository: settings.git_repository
    .unwrap()
    .trim()
    .min(1, "This field is required.")
    .describe("https, http, git or ssh URL, or git@host:path; a file URL on the server that Berth itself runs on."),
  git_branch: settings.git_branch
    .unwrap()
    .trim()
    .min(1, "This field is required.")
    .describe("Branch to deploy; `HEAD`: the default branch of the repository."),
  build_pack: BuildPack,
});
export type ApplicationCreatePublic = z.infer<typeof ApplicationCreatePublic>;

export const ApplicationCreateDeployKey = ApplicationCreatePublic.extend({
  private_key_uuid: z
    .string()
    .min(1, "This field is required.")
    .max(255)
    .describe("Private key for reading its repository: over ssh, or over https with the key's name and password."),
});
export type ApplicationCreateDeployKey = z.infer<typeof ApplicationCreateDeployKey>;

export const ApplicationCreateGithubApp = ApplicationCreatePublic.extend({
  github_app_uuid: z
    .string()
    .min(1, "This field is required.")
    .max(255)
    .describe("GitHub app of the team that may read the repository."),
  git_repository: settings.git_repository
    .unwrap()
    .trim()
    .min(1, "This field is required.")
    .describe("`owner/name`, or the repository's URL at the app's site."),
});
export type ApplicationCreateGithubApp = z.infer<typeof ApplicationCreateGithubApp>;

export const ApplicationCreateDockerfile = z.strictObject({
  ...CREATE,
  dockerfile: ApplicationSecrets.shape.dockerfile
    .unwrap()
    .unwrap()
    .min(1, "This field is required.")
    .describe("The Dockerfile: plain text, or base64 of it."),
});
export type ApplicationCreateDockerfile = z.infer<typeof ApplicationCreateDockerfile>;

export const ApplicationCreateImage = z.strictObject({
  ...CREATE,
  docker_registry_image_name: settings.docker_registry_image_name
    .unwrap()
    .unwrap()
    .trim()
    .min(1, "This field is required.")
    .describe("The image: `nginx`, `ghcr.io/owner/name`, also with `:tag` or `@sha256:` and its digest."),
  build_pack: BuildPack.optional().describe("Accepted and ignored: an image is not built."),
});
export type ApplicationCreateImage = z.infer<typeof ApplicationCreateImage>;

/** Creates a service, for old clients; services have an operation of their own. */
export const ApplicationCreateCompose = z.strictObject({
  ...PLACE_INPUT,
  type: z.string().max(255).optional().describe("Accepted and ignored."),
  name: COMMON.name,
  description: COMMON.description,
  instant_deploy: flag("Start at once."),
  docker_compose_raw: z
    .string()
    .min(1, "This field is required.")
    .max(COMPOSE_FIELD_LENGTH_MAX)
    .describe("The compose file: plain YAML, or base64 of it."),
  force_domain_override: COMMON.force_domain_override,
  is_container_label_escape_enabled: flag("Escape $ in container labels. Default true."),
});
export type ApplicationCreateCompose = z.infer<typeof ApplicationCreateCompose>;

export const ApplicationCreateUpload = z.strictObject({
  ...CREATE,
  build_pack: BuildPack.optional().meta({ default: "nixpacks" }),
});
export type ApplicationCreateUpload = z.infer<typeof ApplicationCreateUpload>;

/** The fields that every creation accepts. */
export type ApplicationCreate = Omit<ApplicationCreateUpload, "dockerfile"> & {
  readonly dockerfile?: string | null | undefined;
};

export const ApplicationUpdate = z.strictObject({
  ...COMMON,
  ...SETTINGS,
  name: ResourceName.nullable().optional().describe("Null keeps the name."),
  private_key_uuid: lenient(z.string().max(255).nullable())
    .optional()
    .describe("Private key for reading its repository; null for a public one."),
  build_pack: BuildPack.optional(),
});
export type ApplicationUpdate = z.infer<typeof ApplicationUpdate>;
