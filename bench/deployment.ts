import type { TestServer } from "../apps/server/e2e/server.fixture.ts";

/** Follows the log of the deployment to its end, as the command line does. Polling would slow down what is measured. */
export async function finished(berth: TestServer, deployment: string): Promise<void> {
  const log = await fetch(`${berth.url}/api/v1/deployments/${deployment}/logs/follow`, {
    headers: { authorization: `Bearer ${berth.token}` },
  });
  await log.text();
  const { body } = await berth.rest("GET", `/deployments/${deployment}`);
  const { status, error } = body as { status: string; error: string | null };
  if (status !== "finished") throw new Error(`The deployment ${status}: ${error}`);
}

interface StepTimes {
  readonly name: string;
  readonly status: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

const stepsOf = async (berth: TestServer, deployment: string) =>
  (await berth.rest("GET", `/deployments/${deployment}/steps`)).body as readonly StepTimes[];

/** Milliseconds of each step, for a line of output. */
export async function steps(berth: TestServer, deployment: string): Promise<string> {
  const times = (await stepsOf(berth, deployment)).map(({ name, started_at, finished_at }) =>
    started_at === null || finished_at === null ? name : `${name} ${Date.parse(finished_at) - Date.parse(started_at)}`,
  );
  return times.join(", ");
}

/** Waits: draining and removing the previous release would slow down the next measurement. */
export async function retired(berth: TestServer, deployment: string): Promise<void> {
  while (!(await stepsOf(berth, deployment)).every(({ status }) => status === "done" || status === "skipped")) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
