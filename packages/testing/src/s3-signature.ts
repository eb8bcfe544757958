import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Whether a request is signed with this login, by AWS signature version 4. */
export function isSignedBy(
  { method, url = "/", headers }: Pick<IncomingMessage, "method" | "url" | "headers">,
  { key, secret }: { readonly key: string; readonly secret: string },
): boolean {
  const found = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/.exec(
    headers.authorization ?? "",
  );
  const [, credential, scope = "", signed = "", signature] = found ?? [];
  if (credential !== key) return false;
  const { pathname, searchParams } = new URL(url, "http://host");
  const query = [...searchParams].map((pair) => pair.map(encoded).join("=")).sort();
  const values = signed.split(";").map(
    (name) =>
      `${name}:${String(headers[name] ?? "")
        .trim()
        .replace(/ +/g, " ")}\n`,
  );
  const request = [method, pathname, query.join("&"), values.join(""), signed, headers["x-amz-content-sha256"]].join(
    "\n",
  );
  const digest = createHash("sha256").update(request).digest("hex");
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest].join("\n");
  const signingKey = scope.split("/").reduce<string | Buffer>((before, part) => hmac(before, part), `AWS4${secret}`);
  return hmac(signingKey, text).toString("hex") === signature;
}

const hmac = (secret: string | Buffer, text: string): Buffer => createHmac("sha256", secret).update(text).digest();

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
