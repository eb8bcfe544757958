/** Copied into the build by `tooling/build`. */
export const ASSETS = new URL("./", import.meta.url);
