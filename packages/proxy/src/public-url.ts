/**
 * The URL at which a browser finds a site behind a proxy that speaks plain HTTP on `port`. A port in the URL is the
 * application's own and is replaced by the proxy's. An `https:` URL stays what it is, since this proxy has no TLS: who
 * has it decides. Other texts are returned unchanged.
 */
export function publicUrl(url: string, port: number): string {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#]+)(.*)$/is.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return url;
  const host = authority.replace(/:\d*$/, "");
  if (scheme.toLowerCase() === "https") return `https://${host}${rest}`;
  return `http://${host}${port === 80 ? "" : `:${port}`}${rest}`;
}
