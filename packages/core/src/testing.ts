export { asyncCpuCost, cpuCost, isMoment } from "./cpu-cost.fixture.ts";
