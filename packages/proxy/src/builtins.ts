/**
 * The built-in modules of the proxy's own process. An `import` of them reads every export, and some exports load what
 * they name at the first read: `node:http` then brings undici, HTTP/2, TLS and crypto (46 MB of memory become 59),
 * `node:fs` its promises. This way they are only loaded when used.
 */
export const http = process.getBuiltinModule("node:http");
export const net = process.getBuiltinModule("node:net");
export const fs = process.getBuiltinModule("node:fs");
