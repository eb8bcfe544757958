import { pipeline } from "@berth/core/deploy";
import { build } from "./build.ts";
import { checkout } from "./checkout.ts";
import type { StepContext } from "./context.ts";
import { health } from "./health.ts";
import { start } from "./start.ts";
import { switchTraffic } from "./switch.ts";

/**
 * How an application is deployed. When traffic flows to the candidate the deployment is finished; draining and removing
 * what it replaced is the step `retire`, which holds no place in the queue.
 */
export const deploy = pipeline<StepContext, object>()
  .step(checkout)
  .step(build)
  .step(start)
  .step(health)
  .step(switchTraffic);
