import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Container suites start within this share of their project's files, so that the last one does not run alone. */
const SPREAD = 0.8;

/**
 * Projects that start whole servers come first, each with its files together: vitest keeps a worker, with all the
 * modules it has loaded, only while the next file in the queue is of the same project. Container suites wait for one
 * of few slots (`testing/src/docker-slot.ts`), so they are spread among the other files of their project. Suites that a
 * late run leaves out come last (`testing/src/large-suite.ts`).
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...inOrder(sorted.filter((file) => !isLarge(file))), ...inOrder(sorted.filter(isLarge))];
  }
}

function inOrder(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const projects = [...Map.groupBy(files, ({ project }) => project.name).values()];
  return projects.toSorted((one, other) => Number(isWhole(other)) - Number(isWhole(one))).flatMap(spread);
}

const isWhole = (files: readonly TestSpecification[]): boolean =>
  files.some(({ moduleId }) => moduleId.includes("/e2e/"));

function spread(files: readonly TestSpecification[]): readonly TestSpecification[] {
  const [contained, others] = [files.filter(hasContainers), files.filter((file) => !hasContainers(file))];
  const gap = (others.length / Math.max(1, contained.length)) * SPREAD;
  return [
    ...contained.map((file, at) => ({ file, place: at * gap })),
    ...others.map((file, at) => ({ file, place: at })),
  ]
    .toSorted((one, other) => one.place - other.place)
    .map(({ file }) => file);
}

const hasContainers = (file: TestSpecification): boolean => /\bdescribe(Large)?Docker\b/.test(textOf(file));

const isLarge = (file: TestSpecification): boolean => /\bdescribe(Large|Pages)/.test(textOf(file));

const textOf = ({ moduleId }: TestSpecification): string => readFileSync(moduleId, "utf8");
