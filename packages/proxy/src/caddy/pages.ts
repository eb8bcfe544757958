import {
  ACCEPTS_HTML,
  ambiguousPath,
  noAnswer,
  type Page,
  pageContent,
  signIn,
  siteDown,
  unknownHost,
} from "../pages.ts";
import { escapePlaceholders } from "./literal.ts";

/** Variable with the site's name, for error pages. */
export const SITE_NAME = "berth_site";
export const SITE_NAME_HTML = "berth_site_html";

/** Error pages of Caddy, the same as those of the embedded proxy. */
export function errorRoutes() {
  return [
    { statuses: ["400"], page: ambiguousPath() },
    { statuses: ["401"], page: signIn() },
    { statuses: ["404"], page: unknownHost("") },
    { statuses: ["503"], page: siteDown(NAME) },
    { statuses: ["502", "504"], page: noAnswer(NAME) },
  ].flatMap(({ statuses, page }) => [
    pageRoute(statuses, page, { isHtml: true }),
    pageRoute(statuses, page, { isHtml: false }),
  ]);
}

function pageRoute(statuses: readonly string[], page: Page, { isHtml }: { readonly isHtml: boolean }) {
  const { headers, text } = pageContent(page, isHtml);
  const placeholder = `{http.vars.${isHtml ? SITE_NAME_HTML : SITE_NAME}}`;
  const isStatus = { vars: { "{http.error.status_code}": statuses } };
  const takesHtml = { header_regexp: { Accept: { pattern: `(?i)${ACCEPTS_HTML}` } } };
  return {
    match: [{ ...isStatus, ...(isHtml && takesHtml) }],
    handle: [
      {
        handler: "static_response",
        status_code: page.status,
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
        body: escapePlaceholders(text).replaceAll(NAME, placeholder),
      },
    ],
    terminal: true,
  };
}

/** Placeholder for the name while a page is generated; contains nothing that would be escaped. */
const NAME = "SITE_NAME_HERE";
