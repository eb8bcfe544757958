import type { Control } from "@berth/control";
import type { Progress } from "./progress.ts";

/** Prints a deployment's log while it runs, and finally the application's URL. */
export function followDeployment(
  control: Control,
  { uuid, deployment }: { readonly uuid: string; readonly deployment: string },
  progress: Progress,
): { stop(): void } {
  const stopped = new AbortController();
  const follow = async () => {
    for await (const { event } of await control.deployments.follow(deployment, { after: 0, signal: stopped.signal })) {
      if (event.type === "line") progress.line(`  ${event.line.output}`);
    }
    if (stopped.signal.aborted) return;
    const { status, error } = await control.deployments.get(deployment);
    if (status !== "finished") {
      progress.line(`\nThe deployment ${status}${error ? `: ${error}` : ""}`);
      return;
    }
    const { urls } = await control.applications.get(uuid);
    progress.line(`\nReady: ${urls.join(" ")}`);
  };
  follow().catch((error: unknown) => {
    if (!stopped.signal.aborted) progress.line(`The log cannot be followed: ${String(error)}`);
  });
  return { stop: () => stopped.abort() };
}
