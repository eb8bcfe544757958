import { readLabels } from "../application/container-label.ts";

/** Headers that are set on a site's requests and responses; an empty value removes a header. */
export interface LabelHeaders {
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly responseHeaders?: Readonly<Record<string, string>>;
}

/**
 * Headers from an application's labels, in the syntax of Caddy and of Traefik. Berth's proxies do not read labels, so
 * that no container can change its own routing.
 */
export function labelHeaders(text: string | null): LabelHeaders {
  const requestHeaders: Record<string, string> = {};
  const responseHeaders: Record<string, string> = {};
  for (const [label, value] of Object.entries(readLabels(text))) {
    const [, direction, traefikName] = TRAEFIK.exec(label) ?? [];
    const [, caddyName] = CADDY.exec(label) ?? [];
    const name = traefikName ?? caddyName;
    if (name === undefined) continue;
    const headers = direction?.toLowerCase() === "request" ? requestHeaders : responseHeaders;
    if (caddyName !== undefined && name.startsWith("-")) headers[name.slice(1)] = "";
    else headers[name] = caddyName === undefined ? value : unquoted(value);
  }
  return {
    ...(Object.keys(requestHeaders).length > 0 && { requestHeaders }),
    ...(Object.keys(responseHeaders).length > 0 && { responseHeaders }),
  };
}

const NAME = "[A-Za-z0-9][A-Za-z0-9-]{0,99}";
const TRAEFIK = new RegExp(
  `^traefik\\.http\\.middlewares\\.[^.]+\\.headers\\.custom(request|response)headers\\.(${NAME})$`,
  "i",
);
const CADDY = new RegExp(`^caddy(?:_\\d+)?\\.header\\.(-?${NAME})$`, "i");

const unquoted = (value: string) => /^"(.*)"$/s.exec(value)?.[1] ?? value;
