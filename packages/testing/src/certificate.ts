import type { CertificateIssuer } from "@berth/core/ports";

/** Returns labelled texts instead of certificates. `certificateIssuer` of @berth/host is the real implementation. */
export const testCertificates: CertificateIssuer = {
  async issue({ names, authority, notAfter }) {
    const signing = "key" in authority ? authority : { certificate: `authority ${authority.name}\n`, key: "hush\n" };
    const certificate = `certificate of ${names.join(" ")} until ${notAfter.toISOString()}\n`;
    return { authority: signing, certificate, key: `key of ${names[0]}\n` };
  },
};
