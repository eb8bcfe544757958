/**
 * Folder of a user in which each server of theirs that runs is named by a file, so that the command line finds it
 * whatever its data folder is. It is on the disk, not in the runtime folder, which a service of systemd and a shell of
 * the same user do not share.
 */
export function runningServersFolder(
  homeFolder: string,
  env: { readonly XDG_STATE_HOME?: string | undefined },
): string {
  // A relative one is to be ignored, says the XDG specification.
  const state = env.XDG_STATE_HOME?.startsWith("/") ? env.XDG_STATE_HOME : `${homeFolder}/.local/state`;
  return `${state}/berth/servers`;
}
