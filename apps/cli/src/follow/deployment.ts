import type { ErrorCode } from "@berth/core";
import type { DeploymentEvent } from "@berth/core/deploy";
import type { Api } from "../connection/api.ts";
import { problemIn } from "../connection/problem.ts";
import { SETTING_FLAGS } from "../deploy/setting-flags.ts";
import { inFlags } from "../explain.ts";
import { EXIT, type ExitCode } from "../failure.ts";
import { duration } from "../format.ts";
import { printable, printableLine } from "../printable.ts";
import type { Session } from "../session.ts";
import { type FollowState, failedStep, STEP_TITLES } from "./state.ts";
import { followStream } from "./subscription.ts";
import { followView } from "./view.ts";

/** The error of a source that no rule recognises. */
export const UNRECOGNISED: ErrorCode = "deploy.unrecognised";

/**
 * Shows a deployment until it has ended, and reports the result; then likewise those to the other servers of the
 * application. Ctrl-C only stops the display.
 *
 * @returns 0 when all of them finished, 1 when one failed or was cancelled, 130 after Ctrl-C
 */
export async function followDeployment(api: Api, session: Session, uuid: string): Promise<ExitCode> {
  const { exitCode, resourceUuid } = await followOne(api, session, uuid);
  if (exitCode === EXIT.interrupted || resourceUuid === undefined) return exitCode;
  let worst = exitCode;
  for (const { server, deployment } of await followingDeployments(api, resourceUuid, uuid)) {
    session.output.line(`Server ${printable(server)}:`);
    const next = await followOne(api, session, deployment);
    if (next.exitCode === EXIT.interrupted) return next.exitCode;
    if (next.exitCode !== EXIT.ok) worst = next.exitCode;
  }
  return worst;
}

/** Those that wait for this one. They do not start where its release failed, and say so. */
async function followingDeployments({ client }: Api, uuid: string, first: string) {
  // Only applications have several servers.
  const destinations = await client.applications.destinations.list.query({ uuid }).catch((error: unknown) => {
    if (problemIn(error)?.status === 404) return [];
    throw error;
  });
  return destinations.flatMap(({ server_name: server, deployment }) =>
    deployment?.follows === first ? [{ server, deployment: deployment.uuid }] : [],
  );
}

async function followOne(
  { client }: Api,
  session: Session,
  uuid: string,
): Promise<{ readonly exitCode: ExitCode; readonly resourceUuid?: string | undefined }> {
  const { output, system } = session;
  const view = followView({ output, stdout: system.stdout, now: () => new Date() });
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  let state: FollowState;
  try {
    await followStream<DeploymentEvent>({
      subscribe: (handlers) => client.deployments.follow.subscribe({ uuid }, handlers),
      onEvent: view.event,
      onTrouble: view.trouble,
      signal: interruption.signal,
    });
  } catch (error) {
    session.output.line(goesOn(uuid));
    throw error;
  } finally {
    state = view.end();
    release();
  }
  if (interruption.signal.aborted) {
    output.line(`\nNo longer following. ${goesOn(uuid)}`);
    return { exitCode: EXIT.interrupted };
  }
  return { exitCode: result(state, session, uuid), resourceUuid: state.resourceUuid };
}

const goesOn = (uuid: string) =>
  `The deployment continues.\n  Cancel it:        berth cancel ${uuid}\n  Follow it again:  berth logs --deployment ${uuid} -f`;

/** The reason of one that somebody cancelled, which they know. */
const BY_A_USER = "Cancelled by a user.";

function result(state: FollowState, { output }: Session, uuid: string): ExitCode {
  const { colors } = output;
  const { tookMilliseconds: took } = state;
  switch (state.status) {
    case "finished":
      output.line(colors.green(`Deployed${took === undefined ? "" : ` in ${duration(took)}`}.`));
      return EXIT.ok;
    case "cancelled-by-user":
      output.line(colors.yellow("The deployment was cancelled."));
      if (state.error !== null && state.error !== BY_A_USER) output.line(printable(state.error));
      return EXIT.failed;
    default:
      explainFailure(state, output, uuid);
      return EXIT.failed;
  }
}

/** Of `berth deploy`, which most deployments are followed by. */
export const DEPLOY_FLAGS: ReadonlySet<string> = new Set(["git", "branch", ...SETTING_FLAGS.map(({ name }) => name)]);

function explainFailure(state: FollowState, output: Session["output"], uuid: string): void {
  const { colors } = output;
  const step = failedStep(state);
  // In the line view all lines have been printed already.
  if (output.isLive && !output.isVerbose && step) {
    for (const line of state.lines[step.name] ?? []) {
      output.line(`    ${printableLine(line, colors.isColorSupported)}`);
    }
  }
  const reason = state.error ?? step?.error ?? "The server gave no reason.";
  const where = step ? ` at "${STEP_TITLES[step.name]}"` : "";
  output.line(
    colors.red(
      `The deployment failed${where}: ${printable(step?.error_code === UNRECOGNISED ? reason : inFlags(reason, DEPLOY_FLAGS))}`,
    ),
  );
  // Its sentence is all there is to read, and a new application is removed again.
  if (step?.error_code !== UNRECOGNISED) output.line(`The whole log:  berth logs --deployment ${uuid}`);
}
