export { cpuCost } from "./cpu-cost.fixture.ts";
