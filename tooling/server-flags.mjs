// V8 sizes its heap by the machine: on a large one it collects so late that an idle server grows to several hundred MB.
const HEAP = ["--max-semi-space-size=8", "--max-old-space-size=192"];

// The client of the Docker engine uses `url.parse`. Node warns of it in a bundle, where code has no package any more.
const QUIET = ["--disable-warning=DEP0169"];

export const SERVER_FLAGS = [...HEAP, ...QUIET];
