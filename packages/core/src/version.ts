/** The released version: `GET /version` and the description's `info.version`. */
export const VERSION = "4.0.0-beta.437";
/** The version that is being worked on. */
export const NEXT_VERSION = "4.0.0-beta.438";
