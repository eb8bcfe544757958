import type { MissingCertificate, SeenCertificate } from "../ports/site-probe.ts";
import type { CertificateProblem } from "./certificate-problem.ts";
import { type DomainFindings, dnsProblem, OPEN_PORTS } from "./domain-check.ts";

/** `unreached`: the proxy did not answer. `missing`: it has none for the name. `ending`: it was not renewed in time. */
export type CertificateFault = "unreached" | "missing" | "expired" | "ending";

/**
 * What needs attention about a certificate. An authority that browsers do not trust does not: the operator has chosen it,
 * by a certificate of their own or another authority, since proxies issue none by themselves for public names.
 */
export function certificateFault(
  certificate: SeenCertificate | MissingCertificate,
  now: Date,
): CertificateFault | undefined {
  if ("failure" in certificate) return certificate.isReached ? "missing" : "unreached";
  const { startsAt, expiresAt, isForName } = certificate;
  if (!isForName) return "missing";
  if (expiresAt < now) return "expired";
  const lifetimeMs = expiresAt.getTime() - startsAt.getTime();
  const leftMs = expiresAt.getTime() - now.getTime();
  return leftMs < Math.min(ENDING_MS, lifetimeMs * ENDING_SHARE) ? "ending" : undefined;
}

export interface FaultyCertificate extends Pick<DomainFindings, "found" | "serverAddresses"> {
  readonly fault: CertificateFault;
  readonly certificate: SeenCertificate | MissingCertificate;
  /** Requests go through other servers or a load balancer too, as for an application on several servers. */
  readonly hasOtherEntries: boolean;
}

/** @returns `undefined` if visitors may get another certificate than the one that was seen, which is meant to be so. */
export function certificateProblem(host: string, faulty: FaultyCertificate): CertificateProblem | undefined {
  const { fault, found, serverAddresses, hasOtherEntries } = faulty;
  const dns = dnsProblem(host, faulty);
  const addresses = found?.addresses ?? [];
  const leadsElsewhere = dns !== null && addresses.length > 0;
  if (leadsElsewhere && (hasOtherEntries || fault === "unreached")) return undefined;
  // The firewall of a server may let others in than Berth, unless visitors use the same address.
  const isSameWay = addresses.some((address) => serverAddresses.includes(address));
  if (fault === "unreached" && dns === null && !isSameWay) return undefined;
  const reason = dns === null ? `${headOf(host, faulty, true)} ${OPEN_PORTS}` : `${headOf(host, faulty, false)} ${dns}`;
  return { reason, is_refused: fault !== "ending" && !leadsElsewhere };
}

function headOf(host: string, { fault, certificate }: FaultyCertificate, hasRecord: boolean): string {
  if (fault === "unreached") {
    const why = hasRecord && "failure" in certificate ? ` ${certificate.failure}` : "";
    return `https://${host} does not open.${why}`;
  }
  if (fault === "expired") return `The certificate of ${host} has expired.`;
  if (fault === "ending" && "expiresAt" in certificate) {
    return `The certificate of ${host} ends on ${certificate.expiresAt.toISOString().slice(0, 10)} and was not renewed.`;
  }
  return `The proxy has no certificate for ${host}.`;
}

const ENDING_MS = 14 * 24 * 3_600_000;
/** Certificates are renewed after two thirds of their time, and some authorities issue them for six days. */
const ENDING_SHARE = 1 / 6;
