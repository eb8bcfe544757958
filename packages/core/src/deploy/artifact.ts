import type { BuildPack } from "../application/build-pack.ts";
import type { StackArtifact } from "./stack.ts";

/** Input of a build. All paths are on the control plane's machine. */
export interface BuildRequest {
  readonly resourceUuid: string;
  readonly deploymentUuid: string;
  /** Positive number of the resource, unique on the instance; an engine may derive a user id from it. */
  readonly resourceNumber: number;
  /** Folder with the checked-out source. The build copies or moves what it needs out of it. */
  readonly sourceFolder: string;
  readonly config: BuildConfig;
  /** Variables marked for the build. Secrets: they go to the build's environment, never to argv or logs. */
  readonly env: Readonly<Record<string, string>>;
  /** Build without any cache. */
  readonly isForced: boolean;
  /** Base images are looked for anew. */
  readonly isPulled?: boolean;
  /** Build arguments for every image that a stack builds. */
  readonly buildArgs?: Readonly<Record<string, string | null>>;
  /** Variables of the start, so that missing required ones are reported before the build. Secrets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The compose text to make a stack from, where it does not lie in the source. May be a secret. */
  readonly compose?: string | undefined;
  /** The machine is not the resource's alone: a compose text of the source gets no privileges on it. */
  readonly isHostGuarded?: boolean;
}

/** The part of an application's settings that shapes a build. Wire names, as in the contract. */
export interface BuildConfig {
  readonly build_pack: BuildPack;
  readonly base_directory: string;
  readonly publish_directory: string | null;
  readonly install_command: string | null;
  readonly build_command: string | null;
  readonly start_command: string | null;
  readonly is_static: boolean;
  readonly is_spa: boolean;
  readonly dockerfile: string | null;
  readonly dockerfile_location: string | null;
  readonly dockerfile_target_build: string | null;
  readonly docker_registry_image_name: string | null;
  readonly docker_registry_image_tag: string | null;
  /** Image that serves a static application on a Docker server. */
  readonly static_image: string;
  readonly custom_nginx_configuration: string | null;
  /** Port numbers, separated by commas: where what serves static files listens. */
  readonly ports_exposes: string | null;
  /** Compose file inside the base directory. */
  readonly docker_compose_location?: string | undefined;
  /** Compose files inside the base directory that are one text, in the place of that one. */
  readonly composeFiles?: readonly string[];
  /** Files inside the base directory whose variables the compose text may use, the resource's own going before them. */
  readonly composeEnvFiles?: readonly string[];
}

/** Result of a build: plain JSON in the deployment's row, so that another worker can start it. */
export type Artifact = FolderArtifact | ImageArtifact | StackArtifact;

export interface FolderArtifact {
  readonly type: "folder";
  /** Release folder on the server. */
  readonly folder: string;
  /** Folder the command starts in, inside `folder`. */
  readonly workingFolder: string;
  readonly run: RunCommand;
  /** What was recognised, as shown to people: `Node.js (npm)`, `static files`, `Procfile`. */
  readonly detected: string;
}

/** A user's own command line is read by the shell of the release's user, never by the control plane's. */
export type RunCommand =
  | { readonly type: "shell"; readonly script: string }
  | { readonly type: "static"; readonly root: string; readonly isSpa: boolean };

export interface ImageArtifact {
  readonly type: "image";
  /** The name under which it lies on the server, which no other deployment shares: what the engine starts. */
  readonly image: string;
  /** `sha256:...` of the image itself. */
  readonly id?: string;
  /** `name@sha256:...` of one that a registry has: any engine pulls the same again by it. `null` for any other. */
  readonly digest?: string | null;
  /** TCP ports that the image says it listens on (`EXPOSE`), lowest first. */
  readonly ports?: readonly number[];
}
