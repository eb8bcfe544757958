/**
 * Cookies are shared by all ports of a host name, so a browser sends the dashboard's session
 * (`packages/api/src/browser.ts`) to applications too. It is useless without its other half, but not their business.
 */
const NAME = "(?:__Host-)?berth_session=[^;]*";

/** To be removed in this order. RE2 and JavaScript treat the patterns alike. */
export const SESSION_COOKIE_PATTERNS = [`^(?:${NAME}(?:;[ \\t]*|$))+`, `;[ \\t]*${NAME}`] as const;

const PATTERNS = SESSION_COOKIE_PATTERNS.map((pattern) => new RegExp(pattern, "g"));

/** The value of a `Cookie` header without the dashboard's session. */
export function withoutSession(cookies: string): string {
  if (!cookies.includes("berth_session")) return cookies;
  return PATTERNS.reduce((text, pattern) => text.replace(pattern, ""), cookies);
}
