import type { ManagedProxy, ProxyCapabilities } from "@berth/core/ports";
import { proxyContainer } from "./container.ts";
import type { ServerProxyOptions } from "./settings.ts";

const CAPABILITIES: ProxyCapabilities = {
  https: false,
  compression: false,
  customHeaders: false,
  upstreamPorts: false,
  requestCounts: false,
  answerCounts: false,
  earlyAnswers: false,
  hidesSession: false,
};

/** No proxy: applications are reached only by their port mappings. Sites are accepted but have no effect. */
export function noProxy(options: ServerProxyOptions): ManagedProxy {
  // A proxy of another type that ran before.
  const container = proxyContainer({ server: options.host.name, ...options });
  return {
    type: "NONE",
    capabilities: CAPABILITIES,
    sync: async () => {},
    put: async () => {},
    delete: async () => {},
    inFlight: async () => 0,
    answered: async () => undefined,
    publicUrl: (url) => url,
    ensure: () => container.remove(),
    stop: () => container.remove(),
    status: async () => ({ type: "NONE", state: "absent", image: null, startedAt: null, restartCount: 0 }),
  };
}
