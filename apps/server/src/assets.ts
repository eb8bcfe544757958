/** Folder of the files that the server reads beside its code. Run from sources, it is the repository. */
export const ASSETS = new URL("../../../", import.meta.url);

/** Program file of this installation's command line. */
export const PROGRAM = new URL("../../../bin/berth", import.meta.url);

/** Folder of the dashboard's builds. */
export const WEB = new URL("../../web/dist/", import.meta.url);
