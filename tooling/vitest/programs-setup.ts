import { freshBuild } from "../build/fresh.mjs";

/** For vitest's `globalSetup`: suites start the programs that ship, built once before the first of them. */
export function setup(): void {
  for (const name of ["server", "test-server", "cli", "web"]) freshBuild(name);
}
