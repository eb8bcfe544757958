import { runSuites, WIDE } from "./suites.ts";

/** Runs the suite that kills the server, cancels and cuts the manager off in each step of a deployment to a cluster. */
export async function clusterSteps(): Promise<string> {
  const { passed, skipped } = await runSuites("e2e/swarm-disturbed", { [WIDE]: "1" });
  return `${passed} tests passed${skipped === 0 ? "" : `, ${skipped} not possible here`}`;
}
