import { pipeline } from "@berth/core/deploy";
import { build } from "./build.ts";
import { checkout } from "./checkout.ts";
import type { StepContext } from "./context.ts";
import { health } from "./health.ts";
import { start } from "./start.ts";
import { switchTraffic } from "./switch.ts";

/**
 * The pipeline of a deployment. It is finished when the candidate receives the traffic; draining and removing the
 * previous release is the step `retire`, which occupies no place in the queue.
 */
export const deploy = pipeline<StepContext, object>()
  .step(checkout)
  .step(build)
  .step(start)
  .step(health)
  .step(switchTraffic);
