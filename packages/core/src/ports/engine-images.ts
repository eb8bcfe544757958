import type { WorkIO } from "./work-io.ts";

/** An image on an engine. */
export interface EngineImage {
  /** `sha256:...` of the image itself. */
  readonly id: string;
  /** Size on that engine; a transfer may be smaller. */
  readonly sizeBytes: number;
  /** Digests of the uncompressed layers, `sha256:...`, the lowest first. */
  readonly layers: readonly string[];
}

/** A name of an image in a registry. */
export interface RegistryImage {
  /** Registry and repository, e.g. `ghcr.io/owner/name`. */
  readonly name: string;
  readonly tag: string;
}

/** Transfers images to and from an engine. Rejects only with a `DomainError`. */
export interface EngineImages {
  /** `undefined`: the engine has no image of this name. */
  find(image: string): Promise<EngineImage | undefined>;
  /** Those layers that the engine has, so that `load` does not need them; empty if unknown. */
  held(layers: readonly string[]): Promise<readonly string[]>;
  /**
   * An archive for `load` on another engine, produced as fast as it is read; stopping the iteration stops the work.
   * @param without Layers to leave out, if the archive has them as separate files.
   */
  save(image: string, without: readonly string[]): AsyncIterable<Uint8Array>;
  /**
   * Loads an archive of `save`. An interrupted load leaves nothing behind.
   * @throws DomainError `deploy.cancelled`, or the error of `content`
   */
  load(content: AsyncIterable<Uint8Array>, image: string, signal: AbortSignal): Promise<EngineImage>;
  /**
   * Pushes an image with the registry's login. The engine keeps the registry's name for it only if it had that
   * before.
   * @returns `name@sha256:...`, by which any engine can pull it.
   * @throws DomainError `deploy.build_failed` that names the registry and the reason, `deploy.cancelled`
   */
  push(image: string, to: RegistryImage, io: WorkIO): Promise<string>;
  /**
   * Pulls an image with the registry's login, and names it `image`.
   * @param reference As returned by `push`.
   * @throws DomainError `deploy.build_failed` that names the registry and the reason, `deploy.cancelled`
   */
  pull(reference: string, image: string, io: WorkIO): Promise<EngineImage>;
}
