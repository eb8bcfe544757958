import type { CertificateProblem } from "../application/certificate-problem.ts";

/** A resource with an https URL at a host. */
export interface CertificateOwner {
  readonly resource_id: number;
  readonly host: string;
  readonly recorded: CertificateProblem | null;
  /** It is an application on several servers. */
  readonly is_on_several: boolean;
}

export interface FoundCertificate extends Pick<CertificateOwner, "resource_id" | "host"> {
  /** `null`: none is known, and a recorded one is over. */
  readonly problem: CertificateProblem | null;
}

/** What is wrong with the certificates of URLs. Forgotten with the URL, without an event. */
export interface SystemCertificateProblemStore {
  /** The resources that should run, whose own server this is, and which have URLs at these hosts; without previews. */
  owners(serverId: number, hosts: readonly string[]): Promise<readonly CertificateOwner[]>;
  /** Writes and reports what differs from what is recorded. Skips URLs that no longer exist or are being removed. */
  record(found: readonly FoundCertificate[]): Promise<void>;
}
