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
  /** Variables marked for the build. Secrets: they are passed in the build's environment, never in argv or logs. */
  readonly env: Readonly<Record<string, string>>;
  /** Build without any cache. */
  readonly isForced: boolean;
  /** Pull newer base images. */
  readonly isPulled?: boolean;
  /** Build arguments for every image that a stack builds. */
  readonly buildArgs?: Readonly<Record<string, string | null>>;
  /** Variables of the release, so that missing required ones are reported before the build. Secrets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The compose file, if it is not part of the source. May contain secrets. */
  readonly compose?: string | undefined;
  /** Other teams use the machine too: a compose file of the source gets no privileges on it. */
  readonly isHostGuarded?: boolean;
  /** A cluster will run it, whichever server builds it. */
  readonly isForCluster?: boolean;
  /** Called with what a compose file becomes, before its images are pulled or built. Throws if that cannot be started. */
  readonly requireFit?: (planned: StackArtifact) => void;
}

/** The settings of an application that shape a build. Named as in the API. */
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
  /** Comma-separated ports that the server of static files listens on. */
  readonly ports_exposes: string | null;
  /** Compose file inside the base directory. */
  readonly docker_compose_location?: string | undefined;
  /** Compose files inside the base directory that are merged, instead of `docker_compose_location`. */
  readonly composeFiles?: readonly string[];
  /**
   * Env files inside the base directory for references of the compose file. The resource's own variables override
   * them.
   */
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
  /** What the builder recognised, for people: `Node.js (npm)`, `static files`, `Procfile`. */
  readonly detected: string;
}

/** A user's own command line is read by the shell of the release's user, never by the control plane's. */
export type RunCommand =
  | { readonly type: "shell"; readonly script: string }
  | { readonly type: "static"; readonly root: string; readonly isSpa: boolean };

export interface ImageArtifact {
  readonly type: "image";
  /** The name of the image on the server, unique to the deployment; the engine starts it. */
  readonly image: string;
  /** `sha256:...` of the image itself. */
  readonly id?: string;
  /** `name@sha256:...` of an image in a registry, by which any engine can pull it again; `null` if it is not in one. */
  readonly digest?: string | null;
  /** TCP ports that the image says it listens on (`EXPOSE`), lowest first. */
  readonly ports?: readonly number[];
}
