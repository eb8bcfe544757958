import type { WorkIO } from "@berth/core/ports";
import type { RegistryLogins } from "@berth/docker-client";
import type { EnginePlace } from "../buildkit/upgrade.ts";
import type { BuildTarget } from "./build-target.ts";
import type { BuildGuard } from "./guarded-build.ts";
import type { KnownSteps } from "./progress.ts";

/** Server, logins and guard of one build. */
export interface BuildPlace extends EnginePlace {
  /** Logins for private base images. */
  readonly logins: RegistryLogins;
  readonly steps?: KnownSteps | undefined;
  /** Set where the engine shares Berth's network, so that downloads must be checked. */
  readonly guard?: BuildGuard | undefined;
}

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
