/** Signs certificates. In PEM, both. */
export interface Authority {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** Host names and addresses of the server that shows it. */
  readonly names: readonly string[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** One that there is, or what a new one is made of. */
  readonly authority: Authority | { readonly name: string; readonly notAfter: Date };
}

export interface IssuedCertificate {
  readonly authority: Authority;
  /** In PEM. */
  readonly certificate: string;
  /** Private key of the certificate, used for nothing else. */
  readonly key: string;
}

export interface CertificateIssuer {
  issue(request: CertificateRequest): Promise<IssuedCertificate>;
}
