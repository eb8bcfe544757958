import type { MissingCertificate, SeenCertificate } from "../ports/site-probe.ts";
import type { CertificateProblem } from "./certificate-problem.ts";
import { type DomainFindings, dnsProblem, OPEN_PORTS, SET_CLOCK } from "./domain-check.ts";

/**
 * `unreached`: the proxy did not answer. `missing`: it has none for the name. `early`: it is not valid yet. `ending`: it
 * was not renewed in time.
 */
export type CertificateFault = "unreached" | "missing" | "early" | "expired" | "ending";

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
  if (startsAt > now) return "early";
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

/**
 * The same finding has the same words at each check, so that it is recorded once: addresses of a name may rotate.
 * @returns `undefined` if visitors may get another certificate than the one that was seen, which is meant to be so.
 */
export function certificateProblem(host: string, faulty: FaultyCertificate): CertificateProblem | undefined {
  const { fault, found, serverAddresses, hasOtherEntries } = faulty;
  const dns = dnsProblem(host, faulty, "another address");
  const addresses = found?.addresses ?? [];
  const isElsewhere = dns !== null && addresses.length > 0;
  if (isElsewhere && (hasOtherEntries || fault === "unreached")) return undefined;
  // The firewall of a server may let others in than Berth, unless visitors use the same address.
  const isSameWay = addresses.some((address) => serverAddresses.includes(address));
  if (fault === "unreached" && dns === null && !isSameWay) return undefined;
  // Visitors may get the certificate of a CDN, or of a web server in front of Berth's own machine.
  const isUnknown = dns === null && serverAddresses.length === 0;
  const remedy = fault === "early" ? SET_CLOCK : OPEN_PORTS;
  const reason = [headOf(host, faulty), dns ?? remedy, ...(isUnknown ? [UNLESS_IN_FRONT] : [])].join(" ");
  return { reason, is_refused: fault !== "ending" && !isElsewhere && !isUnknown };
}

function headOf(host: string, { fault, certificate }: FaultyCertificate): string {
  if (fault === "unreached") return `https://${host} does not open: the proxy does not answer.`;
  if (fault === "expired") return `The certificate of ${host} has expired.`;
  if (fault === "early" && "startsAt" in certificate) {
    return `The certificate of ${host} is not valid before ${dayOf(certificate.startsAt)}.`;
  }
  if (fault === "ending" && "expiresAt" in certificate) {
    return `The certificate of ${host} ends on ${dayOf(certificate.expiresAt)} and was not renewed.`;
  }
  return `The proxy has no certificate for ${host}.`;
}

const dayOf = (date: Date): string => date.toISOString().slice(0, 10);

const UNLESS_IN_FRONT = "This is as it should be if a CDN or another proxy in front presents its own certificate.";
const ENDING_MS = 14 * 24 * 3_600_000;
/** Certificates are renewed after two thirds of their time, and some authorities issue them for six days. */
const ENDING_SHARE = 1 / 6;
