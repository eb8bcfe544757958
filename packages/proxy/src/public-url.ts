/**
 * The URL at which a browser finds a site behind a proxy that speaks plain HTTP on `port`. `https:` becomes `http:`,
 * since it has no TLS; a port in the URL is the application's own and is replaced by the proxy's. Other texts are
 * returned unchanged.
 */
export function publicUrl(url: string, port: number): string {
  const [, authority, rest] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(url) ?? [];
  if (authority === undefined || rest === undefined) return url;
  const host = authority.replace(/:\d*$/, "");
  return `http://${host}${port === 80 ? "" : `:${port}`}${rest}`;
}
