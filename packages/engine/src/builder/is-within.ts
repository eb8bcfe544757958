import { relative } from "node:path";

/** Compares paths only, without resolving links. */
export function isWithin(outer: string, path: string): boolean {
  const way = relative(outer, path);
  return way !== ".." && !way.startsWith("../");
}
