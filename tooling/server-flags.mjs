// V8 derives the heap size from the machine's memory: on a large machine, an idle server would grow to several hundred
// MB. A control plane of 1,000 servers with 20,000 containers has 170 MB at rest and more while it takes them in: one that
// may have 192 or 400 MB ends there, and 512 MB are not always enough beside a second one (decisions/0379).
const HEAP = ["--max-semi-space-size=8", "--max-old-space-size=512"];

// The server collects once what only its start needed.
const COLLECTION = ["--expose-gc"];

// The Docker client uses `url.parse`. Node warns about it in a bundle, where it cannot tell packages from our code.
const QUIET = ["--disable-warning=DEP0169"];

export const SERVER_FLAGS = [...HEAP, ...COLLECTION, ...QUIET];

/**
 * By default glibc gives each thread a heap of its own, and keeps what the threads have freed: 13 MB at rest. It also
 * raises both thresholds by itself, after which it returns large blocks later: 3 MB at rest.
 */
export const SERVER_ENV = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_TRIM_THRESHOLD_: "131072",
  MALLOC_MMAP_THRESHOLD_: "131072",
};
