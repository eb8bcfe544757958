import type { Route } from "./routes.ts";

/** The methods of a path, for the error about a wrong one. Used rarely, so a scan is fast enough. */
export function methodsOf(routes: readonly Route[]): (path: string) => string[] {
  const patterns = routes.map(({ path, method }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
  }));
  return (path) => {
    const methods = new Set<string>();
    for (const { method, pattern } of patterns) {
      if (!pattern.test(path)) continue;
      methods.add(method);
      if (method === "GET") methods.add("HEAD");
    }
    return [...methods].sort();
  };
}
