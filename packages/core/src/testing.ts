export { BUILD_CONFIG } from "./build/config.fixture.ts";
export { asyncCpuCost, cpuCost, isMoment } from "./cpu-cost.fixture.ts";
export { DRAINED_SOURCE } from "./server/log-drain.fixture.ts";
