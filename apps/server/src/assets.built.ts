/** Copied into the build by `tooling/build`. */
export const ASSETS = new URL("./", import.meta.url);

/** The repository is four folders above the build: `apps/server/dist/<key>/`. */
export const PROGRAM = new URL("../../../../bin/berth", import.meta.url);

/** Folder of the dashboard's builds. */
export const WEB = new URL("../../../web/dist/", import.meta.url);
