import { randomUUID } from "node:crypto";
import { chmod, mkdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { BuildRequest } from "@berth/core/deploy";
import { endGroup } from "@berth/host";
import type { BuildGroup, Workplace } from "../builder/build-place.ts";
import { removeFolder } from "./folder-removal.ts";
import { makeFolder, makePassage } from "./paths.ts";
import { type ReleaseHost, userOf } from "./settings.ts";

export async function inWorkplace<Result>(
  host: ReleaseHost,
  request: BuildRequest,
  visible: readonly string[],
  work: (place: Workplace) => Promise<Result>,
): Promise<Result> {
  const { dataFolder, settings, isolation } = host;
  const user = userOf(settings, request.resourceNumber);
  const top = workplacesOf(dataFolder);
  await mkdir(top, { recursive: true });
  await chmod(top, 0o711);
  const own = join(await realpath(top), randomUUID());
  const folders = { output: join(own, "output"), home: join(own, "home"), temporaryFolder: join(own, "tmp") };
  try {
    await makePassage(own, user);
    for (const folder of Object.values(folders)) await makeFolder(folder, user);
    const sandbox = user && (await isolation.sandboxOf([own, ...visible]));
    return await withBuildGroup(host, request, (group) =>
      work({ source: join(own, "source"), ...folders, user, sandbox, group }),
    );
  } finally {
    await removeFolder(dataFolder, own);
  }
}

/** Removes the workplaces of an earlier process that was killed. */
export const removeWorkplaces = (dataFolder: string): Promise<void> =>
  removeFolder(dataFolder, workplacesOf(dataFolder));

const workplacesOf = (dataFolder: string) => join(dataFolder, ".workplaces");

/** Limits what a build starts, and ends what it leaves running. */
export async function withBuildGroup<Result>(
  { cgroups, settings }: Pick<ReleaseHost, "cgroups" | "settings">,
  { deploymentUuid }: Pick<BuildRequest, "deploymentUuid">,
  work: (group: BuildGroup) => Promise<Result>,
): Promise<Result> {
  const name = `build-${deploymentUuid}`;
  const group: BuildGroup = { cgroupFiles: cgroups.files(name), members: () => cgroups.members(name) };
  try {
    await endGroup({ all: group.members }, 0);
    cgroups.create(name, { ...settings.buildLimits, processesMax: settings.buildProcessesMax });
    return await work(group);
  } finally {
    await endGroup({ all: group.members }, 0);
    await cgroups.remove(name);
  }
}
