import type { Route } from "./routes.ts";

/** The methods a path is served with, for the answer to a wrong one. Asked rarely: a scan is fast enough. */
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
