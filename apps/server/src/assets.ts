/** The folder of the files that the server reads beside its code: the repository, while it runs from its sources. */
export const ASSETS = new URL("../../../", import.meta.url);

/** The command line of this installation. */
export const PROGRAM = new URL("../../../bin/berth", import.meta.url);

/** The builds of the dashboard. */
export const WEB = new URL("../../web/dist/", import.meta.url);
