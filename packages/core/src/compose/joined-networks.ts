import { isExternal, isOn } from "./flag.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";

/** Networks of a service by their keys, with the service's options for each. */
export type JoinedNetworks = Readonly<Record<string, unknown>>;

/**
 * The networks that a service names. Without any it is in the default network, if the file defines options for that.
 */
export function serviceNetworks({ networks }: ComposeService, document: ComposeDocument): JoinedNetworks {
  const said = Array.isArray(networks) ? Object.fromEntries(networks.map((name) => [name, null])) : (networks ?? {});
  const isNone = Object.keys(said).length === 0;
  return isNone && Object.hasOwn(document.networks ?? {}, "default") ? { default: null } : said;
}

/**
 * Whether a service must not reach the outside: all of its networks are `internal`, so Berth adds no network that has
 * access.
 * @param takesRequests The proxy must reach it, so the answer is false when none of its networks allows that.
 */
export function isCutOff(said: JoinedNetworks, document: ComposeDocument, takesRequests: boolean): boolean {
  const networks = Object.keys(said).map((key) => document.networks?.[key]);
  if (networks.length === 0 || !networks.every((network) => (isExternal(network) ? false : isOn(network?.internal))))
    return false;
  return !takesRequests || networks.some((network) => isReachable(network ?? {}));
}

/** Whether the server reaches containers in this network: it has an address in every bridge, even in internal ones. */
function isReachable({ driver, driver_opts }: Readonly<Record<string, unknown>>): boolean {
  const options: Readonly<Record<string, unknown>> = Object(driver_opts);
  const gateways = [4, 6].map((version) => options[`com.docker.network.bridge.gateway_mode_ipv${version}`]);
  return (driver == null || driver === "" || driver === "bridge") && !gateways.includes("isolated");
}
