import type { ComposeContainer } from "./parse.ts";
import { withDefaults } from "./reference.ts";
import type { WantedUrl } from "./wanted-urls.ts";

/**
 * The port for requests whose URL names none: the port in the name of its URL's variable, else the first exposed
 * port, else the first published one; `null` if the service defines none.
 */
export function containerPort(
  { name, exposes, ports }: Pick<ComposeContainer, "name" | "exposes" | "ports">,
  urls: readonly WantedUrl[],
): number | null {
  const wanted = urls.find(({ container, port }) => container === name && port !== null)?.port;
  return wanted ?? portIn(exposes) ?? portIn(ports);
}

/** 80 in `127.0.0.1:8080:80/tcp`; the first port of a range. */
function portIn(list: string | null): number | null {
  const [first = ""] = withDefaults(list ?? "").split(",");
  const port = Number(/(?:^|:)(\d{1,5})(?:-\d+)?(?:\/[a-z]+)?$/.exec(first.trim())?.[1]);
  return port >= 1 && port <= 65_535 ? port : null;
}
