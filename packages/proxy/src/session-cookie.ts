/**
 * Cookies know no ports and, on one host name, no application: a browser sends the dashboard's session
 * (`packages/api/src/browser.ts`) to each. It is of no use without its other half, and still no application's business.
 */
const NAME = "(?:__Host-)?berth_session=[^;]*";

/** In this order, each by nothing. RE2 and JavaScript read them alike. */
export const SESSION_COOKIE_PATTERNS = [`^(?:${NAME}(?:;[ \\t]*|$))+`, `;[ \\t]*${NAME}`] as const;

const PATTERNS = SESSION_COOKIE_PATTERNS.map((pattern) => new RegExp(pattern, "g"));

/** The value of a `Cookie` header without the dashboard's session. */
export function withoutSession(cookies: string): string {
  if (!cookies.includes("berth_session")) return cookies;
  return PATTERNS.reduce((text, pattern) => text.replace(pattern, ""), cookies);
}
