import { freshBuild } from "../build/fresh.mjs";

/** For vitest's `globalSetup`: builds the programs once, before the suites start them. */
export function setup(): void {
  for (const name of ["server", "test-server", "cli", "web"]) freshBuild(name);
}
