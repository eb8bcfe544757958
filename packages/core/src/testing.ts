export { BUILD_CONFIG } from "./build/config.fixture.ts";
export { cpuCost, isMoment } from "./cpu-cost.fixture.ts";
