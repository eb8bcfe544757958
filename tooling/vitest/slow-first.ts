import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Suites on containers begin within this part of all files, so that the last does not run alone at the end. */
const SPREAD = 0.8;

/**
 * Suites on containers wait for one of few places (`testing/src/docker-slot.ts`). One after the other they would fill all
 * workers with waiting; so they are spread among the others, of which those that start whole servers come first.
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
