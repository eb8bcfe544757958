/**
 * Node's modules for the proxy process. An `import` would read every export, and some load other modules when they are
 * read: `node:http` loads undici, HTTP/2, TLS and crypto (59 instead of 46 MB of memory), `node:fs` its promises. This
 * way they are loaded only when used.
 */
export const http = process.getBuiltinModule("node:http");
export const net = process.getBuiltinModule("node:net");
export const fs = process.getBuiltinModule("node:fs");
