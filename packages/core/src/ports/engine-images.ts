import type { WorkIO } from "./work-io.ts";

/** An image that lies on an engine. */
export interface EngineImage {
  /** `sha256:...` of the image itself. */
  readonly id: string;
  /** Size on that engine; a transfer may be smaller. */
  readonly sizeBytes: number;
  /** `sha256:...` of what each of its layers holds, the lowest first. */
  readonly layers: readonly string[];
}

/** A name that a registry keeps an image under. */
export interface RegistryImage {
  /** Registry and repository, e.g. `ghcr.io/owner/name`. */
  readonly name: string;
  readonly tag: string;
}

/** How images come to an engine, and leave it, otherwise than by a build. Rejects only with a `DomainError`. */
export interface EngineImages {
  /** `undefined`: the engine has none of this name. */
  find(image: string): Promise<EngineImage | undefined>;
  /** Those of an image's layers that `load` need not be given, since the engine has them; none where it cannot tell. */
  held(layers: readonly string[]): Promise<readonly string[]>;
  /**
   * An archive for `load` of another engine. Read as fast as it is taken; ending the iteration ends the work.
   * @param without Layers that are left out where the archive has them as files of their own.
   */
  save(image: string, without: readonly string[]): AsyncIterable<Uint8Array>;
  /**
   * Takes what `save` gives. Nothing of it stays when it breaks off.
   * @throws DomainError `deploy.cancelled`, or what ended `content`
   */
  load(content: AsyncIterable<Uint8Array>, image: string, signal: AbortSignal): Promise<EngineImage>;
  /**
   * Puts an image into a registry, with the login for it. The name of the registry stays on the engine only
   * when it was there before.
   * @returns `name@sha256:...`, by which any engine pulls the same again.
   * @throws DomainError `deploy.build_failed` that says which registry and why, `deploy.cancelled`
   */
  push(image: string, to: RegistryImage, io: WorkIO): Promise<string>;
  /**
   * Brings an image of a registry, with the login for it, and gives it the name `image`.
   * @param reference As `push` answers it.
   * @throws DomainError `deploy.build_failed` that says which registry and why, `deploy.cancelled`
   */
  pull(reference: string, image: string, io: WorkIO): Promise<EngineImage>;
}
