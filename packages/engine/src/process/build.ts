import { DomainError, isDomainError } from "@berth/core";
import type { BuildRequest, FolderArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { endGroup } from "@berth/host";
import type { BuildGroup, ProcessBuilder } from "../builder/build-place.ts";
import { pathOf } from "./environment.ts";
import { removeFolder } from "./folder-removal.ts";
import { makeFolder, makeResourceFolders, releaseFolder, resourcePaths } from "./paths.ts";
import type { RunningEngine } from "./running-engine.ts";
import { userOf } from "./settings.ts";

/** Builds the release in a new, empty folder, which is removed when the build fails. */
export async function buildRelease(
  { host, releases, remove }: RunningEngine,
  builder: ProcessBuilder,
  request: BuildRequest,
  io: WorkIO,
): Promise<FolderArtifact> {
  const { dataFolder, settings, runtime, cgroups, isolation } = host;
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
  const name = `build-${request.deploymentUuid}`;
  const group: BuildGroup = { join: (pid) => cgroups.join(name, pid), members: () => cgroups.members(name) };
  try {
    await endGroup({ others: group.members }, 0);
    cgroups.create(name, { ...settings.buildLimits, processesMax: settings.buildProcessesMax });
    return await builder.build(request, io, {
      resourceFolder: paths.folder,
      releaseFolder: folder,
      cacheFolder: paths.cache,
      home: paths.home,
      temporaryFolder: paths.temporary,
      path: pathOf(runtime),
      user,
      sandbox: await isolation.sandbox(request.resourceUuid),
      group,
    });
  } catch (cause) {
    await removeFolder(dataFolder, folder);
    if (isDomainError(cause)) throw cause;
    const message = "The build failed. See the server's log for the reason.";
    throw new DomainError("deploy.build_failed", message, { cause });
  } finally {
    await endGroup({ others: group.members }, 0);
    await cgroups.remove(name);
  }
}
