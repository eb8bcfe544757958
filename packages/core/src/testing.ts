export { cpuCost, isMoment } from "./cpu-cost.fixture.ts";
