import type { WorkIO } from "@berth/core/ports";
import type { BuildPlace } from "./build-place.ts";
import type { BuildTarget } from "./build-target.ts";

/**
 * Has an engine's BuildKit make an image, which then lies on that engine. What it asks for of the context is sent
 * through the connection that the server is reached by.
 * What speaks with BuildKit is loaded with the first build.
 *
 * @throws DomainError `deploy.build_failed`, `deploy.cancelled`, `engine.unsupported` without BuildKit
 */
export async function buildImage(target: BuildTarget, io: WorkIO, place: BuildPlace): Promise<void> {
  const { buildkitImage } = await import("./buildkit-image.ts");
  await buildkitImage(target, io, place);
}
