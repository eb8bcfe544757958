import type { Authority, CertificateRequest, IssuedCertificate } from "../ports/certificate.ts";
import type { DatabaseRecord, DatabaseSecrets } from "../ports/database.ts";
import { outerHost } from "./database-view.ts";
import type { TlsCertificate } from "./engine/row.ts";
import { isTls } from "./engine/tls.ts";

/** Validity of a certificate. */
const VALID_DAYS = 730;
/** A start with less than this left issues a new certificate. */
const RENEWED_DAYS = 365;
/** Validity of the authority, which clients have stored. */
const AUTHORITY_DAYS = 3650;
/** How long before its end a certificate is reported. */
const TOLD_DAYS = 30;

/** The certificate as stored among the secrets of its database. */
export interface DatabaseCertificate extends TlsCertificate {
  readonly authorityKey: string;
  readonly authorityExpiresAt: string;
  readonly names: readonly string[];
  readonly expiresAt: string;
}

const SECRET = "certificate";

export function databaseCertificate({ [SECRET]: kept }: DatabaseSecrets): DatabaseCertificate | undefined {
  // Only `keptCertificate` writes this value.
  return kept === undefined ? undefined : (JSON.parse(kept) as DatabaseCertificate);
}

/** Names that clients connect to: within its network, through the public port, and in its own container. */
function namesOf({ uuid, placement }: Pick<DatabaseRecord, "uuid" | "placement">): readonly string[] {
  return [...new Set([uuid, outerHost(placement.server_ip), "localhost", "127.0.0.1", "::1"])];
}

/**
 * The certificate to issue before the next start: for a database that offers TLS and has no certificate, another
 * name, or less than a year left. The authority is kept while it outlives the certificate.
 */
export function wantedCertificate(
  database: Pick<DatabaseRecord, "uuid" | "placement" | "fields">,
  kept: DatabaseCertificate | undefined,
  now: Date,
): CertificateRequest | undefined {
  if (!isTls({ enable_ssl: database.fields.enable_ssl ?? null })) return undefined;
  const names = namesOf(database);
  const hasNames = kept !== undefined && names.every((name) => kept.names.includes(name));
  if (hasNames && daysUntil(kept.expiresAt, now) >= RENEWED_DAYS) return undefined;
  const isAuthorityGood = kept !== undefined && daysUntil(kept.authorityExpiresAt, now) >= VALID_DAYS;
  return {
    names,
    // Tolerates clients whose clocks are slow.
    notBefore: daysAfter(now, -1),
    notAfter: daysAfter(now, VALID_DAYS),
    authority: isAuthorityGood
      ? { certificate: kept.authority, key: kept.authorityKey }
      : { name: `Berth authority of ${database.uuid}`, notAfter: daysAfter(now, AUTHORITY_DAYS) },
  };
}

/** The change of the record when a new certificate is issued. */
export function certificateChange(
  { names, notAfter, authority }: CertificateRequest,
  kept: DatabaseCertificate | undefined,
  issued: IssuedCertificate,
) {
  const certificate: DatabaseCertificate = {
    authority: issued.authority.certificate,
    authorityKey: issued.authority.key,
    authorityExpiresAt: isAuthority(authority) ? (kept?.authorityExpiresAt ?? "") : authority.notAfter.toISOString(),
    certificate: issued.certificate,
    key: issued.key,
    names,
    expiresAt: notAfter.toISOString(),
  };
  return {
    fields: { ca_certificate: certificate.authority },
    secrets: { [SECRET]: JSON.stringify(certificate) },
    certificate_expires_at: notAfter,
  };
}

/** Certificates that end before this are reported. */
export const reportedCertificateEnd = (now: Date): Date => daysAfter(now, TOLD_DAYS);

const isAuthority = (authority: CertificateRequest["authority"]): authority is Authority => "key" in authority;

const DAY_MS = 86_400_000;
const daysAfter = (time: Date, days: number): Date => new Date(time.getTime() + days * DAY_MS);
const daysUntil = (time: string, now: Date): number => (Date.parse(time) - now.getTime()) / DAY_MS;
