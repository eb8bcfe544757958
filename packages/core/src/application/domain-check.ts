import { z } from "zod";
import type { MissingCertificate, NameAddresses, SeenCertificate } from "../ports/site-probe.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

const sentence = (meaning: string) =>
  z.string().nullable().describe(`${meaning} Null if nothing is known to be wrong.`);

export const DomainCheck = z
  .object({
    url: z.string(),
    addresses: z.array(z.string()).describe("What DNS answers for its name now, without private addresses."),
    dns_problem: sentence("What is wrong with its DNS record, and what to do."),
    route_problem: sentence("Why the proxy does not forward its requests, and what to do."),
    certificate: z
      .object({ issuer: z.string().nullable(), expires_at: Timestamp })
      .nullable()
      .describe("What the server's proxy presents for its name now. Null for http, and where nothing is presented."),
    certificate_problem: sentence("Why a browser refuses its certificate, or why there is none."),
  })
  .meta({ id: "DomainCheck", description: "DNS record, route and certificate of a URL, as they are now." });
export type DomainCheck = z.infer<typeof DomainCheck>;

/** A site as its URL names it. */
export interface Site {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly isHttps: boolean;
  /** Whether DNS is asked for it: not for addresses, nor for names that always mean the machine itself. */
  readonly hasRecord: boolean;
}

export function siteOf(url: string): Site {
  const { hostname, protocol } = new URL(url);
  const isAddress = /^[\d.]+$|^\[/.test(hostname);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    isHttps: protocol === "https:",
    hasRecord: !isAddress && !/(^|\.)localhost$/.test(hostname),
  };
}

/** What was found out about a URL. */
export interface DomainFindings {
  /** Of its name; `undefined` if DNS was not asked. */
  readonly found: NameAddresses | undefined;
  /** Addresses of the server, for comparison; empty if they are not known, as of a machine behind another address. */
  readonly serverAddresses: readonly string[];
  readonly routeProblem: string | undefined;
  /** `undefined` if it was not asked for. */
  readonly certificate: SeenCertificate | MissingCertificate | undefined;
  readonly now: Date;
}

export function domainCheck(url: string, findings: DomainFindings): DomainCheck {
  const { certificate, found, routeProblem } = findings;
  const { host } = siteOf(url);
  const isSeen = certificate !== undefined && !("failure" in certificate);
  return {
    url,
    addresses: [...(found?.addresses ?? [])],
    dns_problem: dnsProblem(host, findings),
    route_problem: routeProblem ?? null,
    certificate: isSeen ? { issuer: certificate.issuer, expires_at: timestamp(certificate.expiresAt) } : null,
    certificate_problem: certificateRefusal(findings),
  };
}

/**
 * What is wrong with the DNS record of a name, and what to do.
 * @param others What its name resolves to instead. Default: all addresses, which may be others at the next answer.
 */
export function dnsProblem(
  host: string,
  { found, serverAddresses }: Pick<DomainFindings, "found" | "serverAddresses">,
  others?: string,
): string | null {
  if (found === undefined) return null;
  const [own] = [...serverAddresses].sort();
  const named = own ?? "the server's address";
  if (found.addresses.length === 0) {
    return found.hasHidden ? null : `${host} has no address. Add a DNS record that names ${named}.`;
  }
  if (own === undefined || found.addresses.some((address) => serverAddresses.includes(address))) return null;
  return `${host} resolves to ${others ?? found.addresses.join(", ")}, not to ${own}. Change its DNS record, unless a proxy such as a CDN is meant to be there.`;
}

function certificateRefusal({ certificate, now }: DomainFindings): string | null {
  if (certificate === undefined) return null;
  if ("failure" in certificate)
    return certificate.isReached ? `${certificate.failure} ${PENDING}` : certificate.failure;
  const { startsAt, expiresAt, isForName, problem } = certificate;
  if (isForName && startsAt > now) return `The certificate is not valid yet. ${SET_CLOCK}`;
  if (expiresAt < now) return `The certificate has expired. ${OPEN_PORTS}`;
  return problem !== null && !isForName ? `${problem} ${PENDING}` : problem;
}

const PENDING = "The proxy may still be getting one: look again in a minute.";
/** What to do where a certificate is not issued or renewed. */
export const OPEN_PORTS = "Check that ports 80 and 443 are open to the internet.";
/** What to do where a certificate is not valid yet. */
export const SET_CLOCK = "Check the clocks of this server and of Berth, or replace the certificate.";
