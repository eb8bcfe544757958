import type { ComposeDocument, ComposeService } from "./schema.ts";

/** Networks of a compose text by their keys, with what is said of the container in each. */
export type JoinedNetworks = Readonly<Record<string, unknown>>;

/** Those of the text. A service that names none is in the default one, where the text says something of that. */
export function saidNetworks({ networks }: ComposeService, document: ComposeDocument): JoinedNetworks {
  const said = Array.isArray(networks) ? Object.fromEntries(networks.map((name) => [name, null])) : (networks ?? {});
  const isNone = Object.keys(said).length === 0;
  return isNone && Object.hasOwn(document.networks ?? {}, "default") ? { default: null } : said;
}

/**
 * Whether a service shall not get outside: all of its networks are `internal`, so it must not join one that leads there.
 * @param takesRequests Its server must reach it, so it is left in where none of its networks lets it.
 */
export function isCutOff(said: JoinedNetworks, document: ComposeDocument, takesRequests: boolean): boolean {
  const networks = Object.keys(said).map((key) => document.networks?.[key]);
  if (networks.length === 0 || !networks.every((network) => (network?.external ? false : isOn(network?.internal))))
    return false;
  return !takesRequests || networks.some((network) => isReachable(network ?? {}));
}

/** By its server, which has an address in a bridge, also in an internal one. */
function isReachable({ driver, driver_opts }: Readonly<Record<string, unknown>>): boolean {
  const options: Readonly<Record<string, unknown>> = Object(driver_opts);
  const gateways = [4, 6].map((version) => options[`com.docker.network.bridge.gateway_mode_ipv${version}`]);
  return (driver == null || driver === "" || driver === "bridge") && !gateways.includes("isolated");
}

/** As the compose tool reads a flag that is written as text. */
export const isOn = (value: unknown): boolean =>
  value === true || (typeof value === "string" && /^(true|y|yes|on)$/i.test(value));
