/** Copied into the build by `tooling/build`. */
export const ASSETS = new URL("./", import.meta.url);

/** Of the repository that holds the build, four folders up: `apps/server/dist/<key>/`. */
export const PROGRAM = new URL("../../../../bin/berth", import.meta.url);

/** The builds of the dashboard. */
export const WEB = new URL("../../../web/dist/", import.meta.url);
