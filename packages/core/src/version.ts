/** The released version: `GET /version` and `info.version` of the OpenAPI document. */
export const VERSION = "4.0.0-beta.437";
/** The next version, in development. */
export const NEXT_VERSION = "4.0.0-beta.438";
