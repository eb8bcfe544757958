import { CUT_ROUNDS } from "@berth/testing";
import { runSuites } from "./suites.ts";

/** Names of the suites' files begin with this. */
const SUITES = "/cut-";

/** Runs the suites that cut one kind of connection each, with so many cuts at each moment. */
export async function cutConnections(rounds: number): Promise<string> {
  const { files, passed, skipped } = await runSuites(SUITES, { [CUT_ROUNDS]: String(rounds) });
  return `${passed} tests of ${files} kinds passed${skipped === 0 ? "" : `, ${skipped} not possible here`}`;
}
