import type { BuildRequest, ImageArtifact, StackArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";

/** Makes the images that one server's Docker engine starts. */
export interface ImageBuilder {
  /** Build packs that this server supports. */
  readonly buildPacks: readonly string[];
  /**
   * Makes the image of a deployment, or those of its containers, and leaves them on this engine. Repeating it for the
   * same deployment starts afresh. Aborting ends the build and all its processes before the promise rejects with
   * `deploy.cancelled`.
   * @throws DomainError `deploy.build_failed` whose message states the reason in one sentence.
   */
  build(request: BuildRequest, io: WorkIO): Promise<ImageArtifact | StackArtifact>;
  /**
   * Removes what was built for this deployment alone. Images that other releases use stay; the builder decides what to
   * keep for rollbacks. Idempotent.
   */
  removeImage(ref: { readonly resourceUuid: string; readonly deploymentUuid: string }): Promise<void>;
  /** Removes every image that was built for the resource, and its build cache. Idempotent. */
  removeImages(resourceUuid: string): Promise<void>;
}
