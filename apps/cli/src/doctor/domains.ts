import { lookup } from "node:dns/promises";
import { connect, type PeerCertificate } from "node:tls";
import { siteOf } from "@berth/core/application";
import pLimit from "p-limit";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Queries this machine's DNS resolver, and the hosts themselves. */
export interface DomainProbe {
  /** Resolves a name. @throws when it has no address. */
  resolve(host: string): Promise<unknown>;
  /** Expiry date of the certificate. @throws when the certificate or the connection is invalid. */
  certificateEnd(host: string, port: number): Promise<Date>;
}

interface WithUrls {
  /** As people open them: with the port of the proxy, while that in `fqdn` is the container's. */
  readonly urls: readonly string[];
}

/** The URLs at which applications and containers of services are opened. */
export const openedUrls = (
  applications: readonly WithUrls[],
  services: readonly { readonly applications?: readonly WithUrls[] | undefined }[],
): readonly string[] =>
  [...applications, ...services.flatMap((service) => service.applications ?? [])].flatMap(({ urls }) => urls);

/** Checks that each host of these URLs has an address, and those with https a valid certificate. */
export async function checkDomains(
  urls: readonly string[],
  probe: DomainProbe = networkProbe,
): Promise<readonly Finding[]> {
  const sites = new Map(urls.flatMap((text) => checkedSite(text) ?? []).map((site) => [site.key, site]));
  const checked = [...sites.values()].slice(0, SITES_MAX);
  const findings = await pLimit(AT_ONCE).map(checked, (site) => checkSite(site, probe));
  const left = sites.size - checked.length;
  return [...findings.flat(), ...(left > 0 ? [ok("domains", `${left} more were not checked`)] : [])];
}

interface Site {
  readonly key: string;
  readonly host: string;
  readonly port: number;
  readonly isHttps: boolean;
}

/** `undefined` for IP addresses, and for names that resolve to the machine itself. */
function checkedSite(text: string): Site | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  const { host, isHttps, hasRecord } = siteOf(text);
  if (!hasRecord) return undefined;
  const port = Number(url.port) || (isHttps ? 443 : 80);
  return { key: `${url.protocol}${host}:${port}`, host, port, isHttps };
}

async function checkSite({ host, port, isHttps }: Site, probe: DomainProbe): Promise<readonly Finding[]> {
  const subject = `domain ${host}`;
  try {
    await probe.resolve(host);
  } catch {
    const remedy = "Add a DNS record for it that names the server's address.";
    return [problem(subject, "It has no address.", remedy)];
  }
  if (!isHttps) return [ok(subject, "has an address")];
  try {
    const end = await probe.certificateEnd(host, port);
    const days = Math.floor((end.getTime() - Date.now()) / DAY_MS);
    if (days >= DAYS_MIN) return [ok(subject, `has an address and a certificate for ${days} days`)];
    return [warning(subject, `Its certificate ends in ${days} days.`, RENEWAL)];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [problem(subject, `https does not work: ${message}.`, RENEWAL)];
  }
}

const RENEWAL = "Check that ports 80 and 443 of its server are open to the internet, for the certificate's authority.";
const SITES_MAX = 200;
const AT_ONCE = 16;
const DAY_MS = 24 * 3600 * 1000;
/** Certificates are renewed a month before they expire. */
const DAYS_MIN = 14;
const TIMEOUT_MS = 5000;

export const networkProbe: DomainProbe = {
  resolve: (host) => lookup(host),
  certificateEnd: (host, port) =>
    new Promise((resolve, reject) => {
      const socket = connect({ host, port, servername: host, timeout: TIMEOUT_MS });
      socket.once("secureConnect", () => {
        const certificate: PeerCertificate = socket.getPeerCertificate();
        socket.destroy();
        resolve(new Date(certificate.valid_to));
      });
      socket.once("timeout", () => socket.destroy(new Error("it does not answer")));
      socket.once("error", reject);
    }),
};
