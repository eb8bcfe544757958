import { X509Certificate } from "node:crypto";
import { basename } from "node:path/posix";
import type { ClusterCertificate } from "@berth/core/ports";
import type { ReadEntry } from "tar";

/**
 * Reads Caddy's folder of certificates, a tar. Of several for one name, such as those of two authorities, the one that
 * is valid for longest.
 */
export async function obtainedCertificates(archive: NodeJS.ReadableStream): Promise<readonly ClusterCertificate[]> {
  const files = await textFiles(archive);
  const found = new Map<string, ClusterCertificate & { readonly endsMs: number }>();
  for (const [path, certificate] of files) {
    const key = path.endsWith(".crt") ? files.get(`${path.slice(0, -".crt".length)}.key`) : undefined;
    const endsMs = key === undefined ? Number.NaN : endOf(certificate);
    const name = basename(path, ".crt");
    if (key !== undefined && endsMs > (found.get(name)?.endsMs ?? 0)) {
      found.set(name, { name, certificate, key, endsMs });
    }
  }
  return [...found.values()].map(({ name, certificate, key }) => ({ name, certificate, key }));
}

/** Milliseconds since 1970; not a number for what is not a certificate. */
function endOf(certificate: string): number {
  try {
    return Date.parse(new X509Certificate(certificate).validTo);
  } catch {
    return Number.NaN;
  }
}

async function textFiles(archive: NodeJS.ReadableStream): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const { Parser } = await import("tar");
  const parser = new Parser({
    filter: (path, entry) => /\.(crt|key)$/.test(path) && (entry.size ?? 0) <= FILE_BYTES_MAX,
    onReadEntry(entry: ReadEntry) {
      const chunks: Buffer[] = [];
      entry.on("data", (chunk: Buffer) => chunks.push(chunk));
      entry.on("end", () => files.set(entry.path, Buffer.concat(chunks).toString("utf8")));
    },
  });
  for await (const chunk of archive) parser.write(Buffer.from(chunk));
  parser.end();
  return files;
}

/** A chain of certificates is a tenth of it. */
const FILE_BYTES_MAX = 128 * 1024;
