import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path/posix";
import type { Host } from "@berth/host";
import type { OwnCertificate } from "./routed-site.ts";

/**
 * Certificates that the operator put into a folder of the server: `NAME.crt` with its chain and `NAME.key`, in PEM. An
 * unreadable pair is left out, since a proxy would otherwise refuse its whole configuration.
 */
export async function ownCertificates(host: Host, folder: string): Promise<readonly OwnCertificate[]> {
  const files = await host.files.list(folder);
  const names = files.filter((file) => /^[\w][\w.-]*\.crt$/.test(file)).map((file) => file.slice(0, -4));
  const read = names
    .filter((name) => files.includes(`${name}.key`))
    .sort()
    .map(async (name) => {
      const [certificate, key] = await Promise.all([
        host.files.read(join(folder, `${name}.crt`)),
        host.files.read(join(folder, `${name}.key`)),
      ]);
      return certificate && key && certificateOf(name, certificate, key);
    });
  return (await Promise.all(read)).filter((certificate) => certificate !== undefined);
}

/** @returns `undefined` for a pair that a proxy could not use. */
export function certificateOf(
  name: string,
  certificate: string | Buffer,
  key: string | Buffer,
): OwnCertificate | undefined {
  try {
    const parsed = new X509Certificate(certificate);
    if (!parsed.checkPrivateKey(createPrivateKey(key))) return undefined;
    const digest = createHash("sha256").update(certificate).update(key).digest("hex");
    return { name, hosts: hostsOf(parsed), digest };
  } catch {
    return undefined;
  }
}

function hostsOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return subjectAltName
    .split(", ")
    .filter((entry) => entry.startsWith("DNS:"))
    .map((entry) => entry.slice(4).toLowerCase());
}
