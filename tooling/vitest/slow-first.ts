import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Whole servers and containers come first: a slow file that begins last would keep one worker busy alone. */
const SLOW = ["/e2e/crash", "/e2e/docker", "/e2e/", "/crash.test.ts", "/docker/"];

export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const found = SLOW.findIndex((part) => moduleId.includes(part));
  return found === -1 ? SLOW.length : found;
}
