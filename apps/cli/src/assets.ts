/** Folder of the files that the command line reads beside its code. Run from sources, it is the repository. */
export const ASSETS = new URL("../../../", import.meta.url);
