/**
 * Where a browser finds the site of a URL behind a proxy that speaks plain HTTP on `port`. It has no TLS, so `https:`
 * becomes `http:`; a port in the URL is the application's own and gives way to the proxy's. What is no URL of these
 * two schemes is given back as it came.
 */
export function publicUrl(url: string, port: number): string {
  const [, authority, rest] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(url) ?? [];
  if (authority === undefined || rest === undefined) return url;
  const host = authority.replace(/:\d*$/, "");
  return `http://${host}${port === 80 ? "" : `:${port}`}${rest}`;
}
