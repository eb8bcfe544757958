import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { hasWholeServers, isLarge } from "./late-suites.ts";

/** Container suites start within this share of all files, so that the last one does not run alone at the end. */
const SPREAD = 0.8;

/**
 * Container suites wait for one of few slots (`testing/src/docker-slot.ts`). Started together they would block all
 * workers, so they are spread among the others, of which those that start whole servers come first. This also renews
 * workers, which collect memory: vitest keeps one only while the next file is of the same project. Suites that a late
 * run leaves out come last (`testing/src/large-suite.ts`).
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).toSorted((one, other) => Number(isWhole(other)) - Number(isWhole(one)));
    return [...spread(sorted.filter((file) => !isLargeFile(file))), ...spread(sorted.filter(isLargeFile))];
  }
}

function spread(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const contained = files.filter(hasContainers);
  const others = files.filter((file) => !contained.includes(file));
  const gap = (others.length / Math.max(1, contained.length)) * SPREAD;
  return [
    ...contained.map((file, at) => ({ file, place: at * gap })),
    ...others.map((file, at) => ({ file, place: at })),
  ]
    .toSorted((one, other) => one.place - other.place)
    .map(({ file }) => file);
}

const isWhole = ({ moduleId }: TestSpecification): boolean => hasWholeServers(moduleId);

const hasContainers = (file: TestSpecification): boolean => /\bdescribe(Large)?Docker\b/.test(textOf(file));

const isLargeFile = (file: TestSpecification): boolean => isLarge(textOf(file));

const textOf = ({ moduleId }: TestSpecification): string => readFileSync(moduleId, "utf8");
