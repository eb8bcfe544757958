import { DomainError } from "@berth/core";
import type { ExecResult } from "@berth/core/ports";
import { run } from "@berth/host";
import { MARKER, releaseEnv } from "./environment.ts";
import { resourcePaths } from "./paths.ts";
import { folderOf } from "./release-process.ts";
import { type ReleaseHost, userOf } from "./settings.ts";
import type { SupervisedRelease } from "./supervisor.ts";

export interface ExecOptions {
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
  readonly maxOutputBytes?: number;
  readonly onLine?: (line: string) => void;
}

/**
 * Runs a script as the release's user, in its environment, folder and limits.
 * @throws DomainError `resource.not_running`, `deploy.cancelled`
 */
export async function executeIn(
  host: ReleaseHost,
  release: SupervisedRelease,
  script: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const spec = release.spec;
  const { port, process: identity } = release.record;
  if (release.state().state !== "running" || port === null) {
    throw new DomainError("resource.not_running", "The application is not running. Start it first.");
  }
  const paths = resourcePaths(host.dataFolder, spec.resourceUuid);
  const { workingFolder } = await folderOf(host, spec);
  const { exitCode, output, isTruncated } = await run(["/bin/sh", "-c", script], {
    ...options,
    env: { [MARKER]: spec.deploymentUuid },
    programEnv: releaseEnv(spec, { port, host: host.settings.hostAddress, paths, runtime: host.runtime }),
    cwd: workingFolder,
    user: userOf(host.settings, spec.resourceNumber),
    // Shares the release's mounts: both see the same /tmp, as two commands in one container do.
    sandbox: identity === null ? undefined : host.isolation.beside(identity.pid),
    cgroupFiles: host.cgroups.files(spec.deploymentUuid),
  });
  return { exitCode, output, isTruncated };
}
