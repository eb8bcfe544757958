/** Who may import whom. A package not listed under a key is forbidden to it. `docs/decisions/0002` says why. */
const MAY_IMPORT = {
  core: [],
  db: ["core", "host"],
  host: ["core"],
  source: ["core", "host"],
  cloud: ["core", "host"],
  backup: ["core", "host"],
  identity: ["core", "host"],
  notification: ["core", "host"],
  "docker-client": ["core", "host"],
  proxy: ["core", "host", "docker-client"],
  engine: ["core", "host", "docker-client"],
  control: ["core"],
  worker: ["core", "control"],
  api: ["core", "control"],
  client: ["api"], // types only, see below
  testing: ["core", "db"],
  cli: ["client", "core"],
  web: ["api", "core"], // types only of api, see below
  server: [
    "api",
    "backup",
    "cli",
    "client",
    "cloud",
    "control",
    "core",
    "db",
    "docker-client",
    "engine",
    "host",
    "identity",
    "notification",
    "proxy",
    "source",
    "worker",
  ],
};

const TEST = "(\\.test\\.ts|\\.fixture\\.ts|\\.conformance\\.ts|/conformance\\.ts|/e2e/|vitest\\.config\\.ts)$|/e2e/";

/** Fixtures that suites of other packages use. */
const TESTING_DOOR = "^packages/(api|core|host|source)/src/testing\\.ts$";

const layer = ([name, allowed]) => ({
  name: `${name}-may-import`,
  severity: "error",
  comment: `${name} may import: ${allowed.join(", ") || "no other package"}.`,
  from: { path: `^(packages|apps)/${name}/`, pathNot: TEST },
  to: { path: "^(packages|apps)/", pathNot: `^(packages|apps)/(${[name, ...allowed].join("|")})/` },
});

/**
 * What opens connections or sockets. Addresses that users name are called through `packages/host/src/http` and
 * `ssh-socket.ts` alone, which refuse private and own addresses when they connect; `docs/security.md` lists them.
 */
const CONNECTING = [
  // The dialers themselves, and the streams to servers.
  "^packages/host/src/(http/|ssh-|local-host|own-address|tls/)",
  // Guarded by them: a bucket's agents, git's address, which is then pinned, and what git itself does not fetch.
  "^packages/backup/src/s3\\.ts$",
  "^packages/source/src/(git/(address|guarded-http)|git-host/github)\\.ts$",
  // Over a server's own stream, or to this machine's own programs.
  "^packages/docker-client/src/client\\.ts$",
  "^packages/engine/src/(docker/(buildkit/|engine-json)|process/(ports|static-server))",
  "^packages/engine/src/conformance(-app)?\\.ts$",
  "^packages/worker/src/probe\\.ts$",
  // The proxy is what answers requests.
  "^packages/proxy/src/",
  // To the process that starts programs, and their pipes.
  "^packages/host/src/launcher/",
  // Of its own machine, for its own user.
  "^apps/cli/src/",
  // Reads addresses only.
  "^apps/server/src/(config|http/client-bounds)\\.ts$",
  "^packages/testing/",
  TEST,
].join("|");

module.exports = {
  forbidden: [
    ...Object.entries(MAY_IMPORT).map(layer),
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "clients-import-only-types-of-api",
      severity: "error",
      from: { path: "^(packages/client|apps/web)/", pathNot: TEST },
      to: { path: "^packages/api/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "only-through-the-index",
      severity: "error",
      comment: "A package is what its index exports; core has one for each subject.",
      from: { path: "^(packages|apps)/([^/]+)/" },
      to: {
        path: "^packages/([^/]+)/src/",
        pathNot: `^packages/([^/]+)/src/index\\.ts$|^packages/core/src/[^/]+/index\\.ts$|^(packages|apps)/$2/|${TESTING_DOOR}`,
      },
    },
    {
      name: "core-knows-no-door-of-its-own",
      severity: "error",
      comment: "Inside core a file imports the file that it needs: a door imports all of its subject.",
      from: { path: "^packages/core/src/" },
      to: { path: ["^packages/core/src/index\\.ts$", "^packages/core/src/[^/]+/index\\.ts$"] },
    },
    {
      name: "core-is-pure",
      severity: "error",
      comment: "Rules have no I/O, no clock and no randomness of their own.",
      from: { path: "^packages/core/src/", pathNot: TEST },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "spawn-only-in-host",
      severity: "error",
      from: {
        path: "^(packages|apps)/",
        pathNot: `^packages/host/src/|^packages/db/src/embedded/|^packages/testing/|${TEST}`,
      },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "connect-only-by-the-dialers",
      severity: "error",
      comment: "See CONNECTING.",
      from: { path: "^(packages|apps)/", pathNot: CONNECTING },
      to: {
        path: "^(node:)?(net|http|https|http2|tls|dgram)$|node_modules/undici/",
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "adapters-do-not-know-each-other",
      severity: "error",
      from: { path: "^packages/engine/src/(docker|process)/" },
      to: { path: "^packages/engine/src/(docker|process|swarm)/", pathNot: "^packages/engine/src/$1/" },
    },
    {
      // Each node of a swarm is a Docker engine, by which its containers are reached.
      name: "swarm-knows-docker-alone",
      severity: "error",
      from: { path: "^packages/engine/src/swarm/" },
      to: { path: "^packages/engine/src/process/" },
    },
    {
      name: "kysely-only-in-db",
      severity: "error",
      from: { path: "^(packages|apps)/", pathNot: "^packages/(db|testing)/" },
      to: { path: "node_modules/kysely/" },
    },
    {
      name: "tests-only-import-testing",
      severity: "error",
      from: { path: "^(packages|apps)/", pathNot: `^packages/testing/|/src/testing\\.ts$|${TEST}` },
      to: { path: ["^packages/testing/", TESTING_DOOR] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(node_modules|examples)/|/dist/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "default"] },
  },
};
