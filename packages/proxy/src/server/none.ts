import type { ManagedProxy, ProxyCapabilities } from "@berth/core/ports";
import { proxyContainer } from "./container.ts";
import type { ServerProxyOptions } from "./settings.ts";

const CAPABILITIES: ProxyCapabilities = {
  https: false,
  compression: false,
  customHeaders: false,
  upstreamPorts: false,
  requestCounts: false,
  hidesSession: false,
};

/** No proxy: applications are reached by their ports mappings alone. Sites are taken and lead nowhere. */
export function noProxy(options: ServerProxyOptions): ManagedProxy {
  // One of another type, from before.
  const container = proxyContainer({ server: options.host.name, ...options });
  return {
    type: "NONE",
    capabilities: CAPABILITIES,
    sync: async () => {},
    put: async () => {},
    delete: async () => {},
    inFlight: async () => 0,
    publicUrl: (url) => url,
    ensure: () => container.remove(),
    stop: () => container.remove(),
    status: async () => ({ type: "NONE", state: "absent", image: null, startedAt: null, restartCount: 0 }),
  };
}
