import { slug } from "../slug.ts";

/** Hosts that denote the control plane's own machine. */
const LOCAL_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "::1", "host.docker.internal", ""];

export const isLocalHost = (ip: string): boolean => LOCAL_HOSTS.includes(ip.toLowerCase());

interface ServerHost {
  readonly ip: string;
  readonly settings: { readonly wildcard_domain: string | null };
}

/** Part of the uuid that is appended when the name alone is taken. */
const SHORT_UUID_LENGTH = 6;

/**
 * URLs to try, in this order, for a resource that was created without one.
 *
 * They are below the server's wildcard domain, or below its address. On the control plane's own machine they are
 * below `localhost`, which every browser resolves, and the name is tried first.
 */
export function generatedUrls(
  server: ServerHost,
  resource: { readonly name: string; readonly uuid: string },
): readonly [string, ...string[]] {
  const { uuid, name } = resource;
  const ofUuid = generatedUrl(server, uuid);
  const hasName = wildcardOf(server.settings.wildcard_domain) === undefined && isLocalHost(server.ip);
  const suffix = uuid.slice(0, SHORT_UUID_LENGTH);
  const label = slug(name);
  if (!hasName || label === "") return [ofUuid];
  const longer = `${slug(name, 63 - 1 - SHORT_UUID_LENGTH)}-${suffix}`;
  return [`http://${label}.localhost`, `http://${longer}.localhost`, ofUuid];
}

/** The URL of one label below the server's wildcard domain, or below its address. */
export function generatedUrl(server: ServerHost, label: string): string {
  const wildcard = wildcardOf(server.settings.wildcard_domain);
  if (wildcard !== undefined) return `${wildcard.scheme}://${label}.${wildcard.host}${wildcard.path}`;
  return `http://${label}.${isLocalHost(server.ip) ? "localhost" : publicHost(server.ip)}`;
}

function wildcardOf(text: string | null) {
  if (text === null || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") return undefined;
  return { scheme: protocol.slice(0, -1), host: host.replace(/^\*\./, ""), path: pathname === "/" ? "" : pathname };
}

/** sslip.io resolves `anything.<address>.sslip.io` to the address. */
function publicHost(ip: string): string {
  if (ip.includes(":")) return `${ip.replaceAll(":", "-")}.sslip.io`;
  return /^\d+(\.\d+){3}$/.test(ip) ? `${ip}.sslip.io` : ip;
}
