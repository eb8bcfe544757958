import { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import type { Authority, CertificateIssuer, CertificateRequest, IssuedCertificate } from "@berth/core/ports";

/** Short, fast, and supported by all clients of the databases. */
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Issues server certificates, each signed by a new authority. */
export const certificateIssuer: CertificateIssuer = {
  async issue({ names, notBefore, notAfter, authority: wanted }) {
    const x509 = await library();
    const authority = "key" in wanted ? wanted : await newAuthority(wanted, notBefore);
    const issuer = new x509.X509Certificate(authority.certificate);
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: [{ CN: [names[0] ?? "localhost"] }],
      issuer: issuer.subjectName,
      notBefore,
      notAfter,
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: await readKey(authority.key),
      extensions: [
        new x509.BasicConstraintsExtension(false),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value })),
        ),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(await issuer.publicKey.export(webcrypto)),
      ],
    });
    return { authority, certificate: pem(certificate.toString("pem")), key: await keyText(keys.privateKey) };
  },
};

async function newAuthority(
  { name, notAfter }: Exclude<CertificateRequest["authority"], Authority>,
  notBefore: Date,
): Promise<IssuedCertificate["authority"]> {
  const x509 = await library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    notBefore,
    notAfter,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pem(certificate.toString("pem")), key: await keyText(keys.privateKey) };
}

const library = () => import("./x509.ts");

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

/** PKCS #8 in PEM, which every server reads. */
async function keyText(key: webcrypto.CryptoKey): Promise<string> {
  const bytes = await webcrypto.subtle.exportKey("pkcs8", key);
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n");
}

const readKey = (text: string) =>
  webcrypto.subtle.importKey(
    "pkcs8",
    Buffer.from(text.replace(/-----[^-]+-----|\s/g, ""), "base64"),
    ALGORITHM,
    false,
    ["sign"],
  );

/** Ends with a line end, so that several can be concatenated. */
const pem = (text: string): string => `${text.trim()}\n`;
