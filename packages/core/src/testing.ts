export { BUILD_CONFIG } from "./build/config.fixture.ts";
export { asyncCpuCost, cpuCost, isMoment } from "./cpu-cost.fixture.ts";
