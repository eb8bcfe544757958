import type { BuildRequest, ImageArtifact, StackArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";

/** Makes the images that one server's Docker engine starts. The engine asks; how they come about is the builder's matter. */
export interface ImageBuilder {
  /** The build packs that work on this server. */
  readonly buildPacks: readonly string[];
  /**
   * Makes the image of a deployment, or those of its containers, so that they lie on this engine, which starts them or
   * gives them to the one that does. Repeating it for the same deployment starts afresh. Aborting ends the build and everything it started before the promise rejects with
   * `deploy.cancelled`.
   * @throws DomainError `deploy.build_failed` whose message says in one sentence what went wrong.
   */
  build(request: BuildRequest, io: WorkIO): Promise<ImageArtifact | StackArtifact>;
  /**
   * Removes what this deployment alone has built. An image that another release was recorded with stays; what is kept
   * for a rollback is the builder's decision. Idempotent.
   */
  removeImage(ref: { readonly resourceUuid: string; readonly deploymentUuid: string }): Promise<void>;
  /** Removes every image that was built for the resource, and its build cache. Idempotent. */
  removeImages(resourceUuid: string): Promise<void>;
}
