import { until } from "@berth/testing";
import { expect } from "vitest";
import type { Json, Tenant } from "./hostile.fixture.ts";

const RUN_DEADLINE_MS = 60_000;

/** Tasks that have a value in each of their fields. */
export const tasksOf = (value: string): readonly Json[] => {
  const task = { name: "task", command: "true", frequency: "yearly", timeout: 5 };
  return [
    { ...task, name: value, command: value },
    { ...task, container: value },
    { ...task, frequency: value },
  ];
};

export interface TaskRun {
  readonly status: string;
  readonly message: string | null;
}

/** Runs a task, and waits until it has ended, in whatever way. */
export async function endedTask(tenant: Tenant, path: string): Promise<readonly TaskRun[]> {
  expect((await tenant.ask("POST", `${path}/run`)).status).toBeLessThan(300);
  const runs = await until(
    async () => {
      const { body } = await tenant.ask("GET", `${path}/executions`);
      const all = body as unknown as TaskRun[];
      return all.length > 0 && all.every(({ status }) => status !== "running") ? all : undefined;
    },
    { seconds: RUN_DEADLINE_MS / 1000 },
  );
  for (const { message } of runs) expect(message ?? "").not.toContain("Berth's own");
  return runs;
}
