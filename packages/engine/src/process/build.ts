import { DomainError, isDomainError } from "@berth/core";
import type { BuildRequest, FolderArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { ProcessBuilder } from "../builder/build-place.ts";
import { pathOf } from "./environment.ts";
import { removeFolder } from "./folder-removal.ts";
import { makeFolder, makeResourceFolders, releaseFolder, resourcePaths } from "./paths.ts";
import type { RunningEngine } from "./running-engine.ts";
import { userOf } from "./settings.ts";
import { withBuildGroup } from "./workplace.ts";

/** Builds the release in a new, empty folder, which is removed when the build fails. */
export async function buildRelease(
  { host, releases, remove }: RunningEngine,
  builder: ProcessBuilder,
  request: BuildRequest,
  io: WorkIO,
): Promise<FolderArtifact> {
  const { dataFolder, settings, runtime, isolation } = host;
  const user = userOf(settings, request.resourceNumber);
  const paths = resourcePaths(dataFolder, request.resourceUuid);
  const folder = releaseFolder(dataFolder, request);
  if (releases.has(request.deploymentUuid)) await remove(request, 0);
  await makeResourceFolders(paths, user);
  await removeFolder(dataFolder, folder);
  await makeFolder(folder, user);
  if (request.isForced) {
    await removeFolder(dataFolder, paths.cache);
    await makeFolder(paths.cache, user);
  }
  const sandbox = await isolation.sandbox(request.resourceUuid);
  const place = {
    resourceFolder: paths.folder,
    releaseFolder: folder,
    cacheFolder: paths.cache,
    home: paths.home,
    temporaryFolder: paths.temporary,
    path: pathOf(runtime),
    ...{ user, sandbox },
  };
  try {
    return await withBuildGroup(host, request, (group) => builder.build(request, io, { ...place, group }));
  } catch (cause) {
    await removeFolder(dataFolder, folder);
    if (isDomainError(cause)) throw cause;
    const message = "The build failed. See the server's log for the reason.";
    throw new DomainError("deploy.build_failed", message, { cause });
  }
}
