/** The folder of the files that the command line reads beside its code: the repository, while it runs from its sources. */
export const ASSETS = new URL("../../../", import.meta.url);
