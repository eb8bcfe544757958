import type { RegistryLogins } from "@berth/docker-client";
import type { EnginePlace } from "../buildkit/upgrade.ts";
import type { BuildGuard } from "./guarded-build.ts";
import type { KnownSteps } from "./progress.ts";

/** Server, logins and guard of one build. */
export interface BuildPlace extends EnginePlace {
  /** Logins for private base images. */
  readonly logins: RegistryLogins;
  readonly steps?: KnownSteps | undefined;
  /** Set where the engine shares Berth's network, so that downloads must be checked. */
  readonly guard?: BuildGuard | undefined;
  /** The control group that limits the build, where there is one. */
  readonly group?: string | undefined;
}
