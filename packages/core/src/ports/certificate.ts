/** Signs certificates. Both fields are in PEM. */
export interface Authority {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** Host names and addresses of the server that uses the certificate. */
  readonly names: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** An existing authority, or the fields of a new one. */
  readonly authority: Authority | { readonly name: string; readonly notAfter: Date };
}

export interface IssuedCertificate {
  readonly authority: Authority;
  /** In PEM. */
  readonly certificate: string;
  /** Private key of the certificate, in PEM. */
  readonly key: string;
}

export interface CertificateIssuer {
  issue(request: CertificateRequest): Promise<IssuedCertificate>;
}
