// The programs to build, each into `dist/` of its own folder. Paths are relative to the repository.

/**
 * @typedef {object} Program
 * @property {string} folder Folder of its package.
 * @property {string} [dist] Folder of the builds, below `folder`. Default: `dist`.
 * @property {Record<string, string>} [entries] Name of the built file to its source. They share chunks. A program
 *   without entries is a page: Vite builds it from its `index.html`.
 * @property {Record<string, string>} [standalone] Like `entries`, but without shared chunks: programs that run as
 *   separate processes, versioned by their single file.
 * @property {Record<string, string>} [assets] Files and folders that the program reads, by their place in the build.
 * @property {Record<string, { program: string, source: string }>} [generated] Files that a program prints from a source, a
 *   file or folder, by their place in the build.
 * @property {string} [target] The oldest Node that it runs on. Default: the one that Berth brings.
 * @property {readonly string[]} [external] Packages that are found at run time: native ones, and those whose files are
 *   read or executed.
 */

/** Parts of every server besides its entry. */
const SERVER = {
  folder: "apps/server",
  standalone: {
    "embedded-main": "packages/proxy/src/embedded-main.ts",
    "launcher-main": "packages/host/src/launcher/launcher-main.ts",
    "static-server": "packages/engine/src/process/static-server.ts",
    "report-thread": "packages/api/src/webhook/report-thread.ts",
  },
  assets: {
    "buildkit.proto": "packages/engine/src/docker/buildkit/buildkit.proto",
    "examples/hello": "examples/hello",
  },
  generated: { "templates.json": { program: "tooling/build/templates.mjs", source: "templates" } },
  external: ["@electric-sql/pglite", "swagger-ui-dist", "tinypool"],
};

/** @type {Record<string, Program>} */
export const PROGRAMS = {
  server: { ...SERVER, entries: { main: "apps/server/src/main.ts" } },
  /** A server for tests that stops at a given moment. */
  "test-server": { ...SERVER, dist: "dist/test", entries: { "crash-main": "apps/server/e2e/crash-main.ts" } },
  cli: {
    folder: "apps/cli",
    entries: { main: "apps/cli/src/main.ts" },
    // It is also installed by itself (packages.mjs).
    target: "node20.11",
    assets: { "openapi.json": "openapi.json" },
  },
  web: { folder: "apps/web" },
  client: {
    folder: "packages/client",
    entries: { index: "packages/client/src/index.ts" },
  },
};
