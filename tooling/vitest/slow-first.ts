import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Container suites start within this share of all files, so that the last one does not run alone at the end. */
const SPREAD = 0.8;

/**
 * Container suites wait for one of few slots (`testing/src/docker-slot.ts`). Started together they would block all
 * workers, so they are spread among the others, of which those that start whole servers come first.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).toSorted((one, other) => Number(isWhole(other)) - Number(isWhole(one)));
    const contained = sorted.filter(hasContainers);
    const others = sorted.filter((file) => !contained.includes(file));
    const gap = (others.length / Math.max(1, contained.length)) * SPREAD;
    return [
      ...contained.map((file, at) => ({ file, place: at * gap })),
      ...others.map((file, at) => ({ file, place: at })),
    ]
      .toSorted((one, other) => one.place - other.place)
      .map(({ file }) => file);
  }
}

const isWhole = ({ moduleId }: TestSpecification): boolean => moduleId.includes("/e2e/");

const hasContainers = ({ moduleId }: TestSpecification): boolean =>
  readFileSync(moduleId, "utf8").includes("describeDocker");
