import type { ManagedProxy, ProxyType } from "@berth/core/ports";
import { caddyProxy } from "../caddy/caddy.ts";
import { traefikProxy } from "../traefik/traefik.ts";
import { proxyContainer } from "./container.ts";
import { noProxy } from "./none.ts";
import { onOverlays } from "./overlays.ts";
import type { ServerProxyOptions } from "./settings.ts";

const PROXIES = {
  CADDY: caddyProxy,
  TRAEFIK: traefikProxy,
  NONE: noProxy,
} satisfies Record<ProxyType, (options: ServerProxyOptions) => ManagedProxy>;

/**
 * The proxy of a Docker server. All types of an instance share a folder and a container name on a server, so `ensure`
 * of one type replaces another and continues with its routes.
 */
export function serverProxy(type: ProxyType, options: ServerProxyOptions): ManagedProxy {
  const proxy = PROXIES[type](options);
  if (options.joinsOverlays !== true) return proxy;
  const container = proxyContainer({ server: options.host.name, ...options });
  return onOverlays(proxy, () => container.joinOverlays());
}
