import type { IncomingMessage, ServerResponse } from "node:http";

/** An answer of the proxy itself. */
export interface Page {
  readonly status: number;
  readonly title: string;
  readonly hint: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const unknownHost = (host: string): Page => ({
  status: 404,
  title: `Nothing is served at ${host.slice(0, HOST_LENGTH_MAX) || "this address"}`,
  hint: "Check the address, or add it to the domains of an application.",
});

export const siteDown = (name: string): Page => ({
  status: 503,
  title: `The application ${name} is down`,
  hint: "It is stopped or does not answer. Try again in a moment.",
  headers: { "Retry-After": "5" },
});

export const brokenAnswer = (name: string): Page => ({
  status: 502,
  title: `The application ${name} closed the connection before it answered`,
  hint: "Look at its logs.",
});

export const ambiguousPath = (): Page => ({
  status: 400,
  title: "This path cannot be routed",
  hint: "It leads to different applications depending on how its escapes and dots are read. Write it plainly.",
});

/** For proxies that cannot distinguish a refused connection from an interrupted one. */
export const noAnswer = (name: string): Page => ({
  status: 502,
  title: `The application ${name} does not answer`,
  hint: "Look at its logs, and at whether it listens on the port that is set.",
});

export const badRequest = (hint: string): Page => ({ status: 400, title: "Bad request", hint });

export const unknownCoding = (): Page => ({
  status: 501,
  title: "Unknown transfer coding",
  hint: "Send the body with Content-Length or plain chunked encoding.",
});

export const signIn = (): Page => ({
  status: 401,
  title: "Sign in",
  hint: "This site asks for a user name and a password.",
  headers: { "WWW-Authenticate": 'Basic realm="Restricted", charset="UTF-8"' },
});

/** 308 keeps method and body, so a form sent to the wrong host still arrives. */
export const redirect = (location: string): Page => ({
  status: 308,
  title: "This site has moved",
  hint: location,
  headers: { Location: location },
});

/** Sends HTML if the client's `Accept` names it, as browsers do, else plain text. */
export function sendPage(page: Page, request: IncomingMessage, response: ServerResponse): void {
  const { headers, text } = pageContent(page, new RegExp(ACCEPTS_HTML, "i").test(request.headers.accept ?? ""));
  const body = Buffer.from(text);
  response.writeHead(page.status, { ...headers, "Content-Length": body.length });
  response.end(body);
}

/** Matches an `Accept` header, ignoring case. */
export const ACCEPTS_HTML = "text/html|application/xhtml";

export function pageContent(
  page: Page,
  isHtml: boolean,
): { readonly headers: Readonly<Record<string, string>>; readonly text: string } {
  return {
    headers: {
      ...page.headers,
      "Content-Type": `${isHtml ? "text/html" : "text/plain"}; charset=utf-8`,
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      Vary: "Accept",
    },
    text: isHtml ? html(page) : `${page.title}.\n${page.hint}\n`,
  };
}

function html({ title, hint }: Page): string {
  return [
    '<!doctype html><html lang="en"><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">',
    `<title>${escapeHtml(title)}</title>`,
    "<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:20vh auto 0;padding:0 1rem;",
    "color-scheme:light dark;overflow-wrap:anywhere}h1{font-size:1.5rem}</style>",
    `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(hint)}</p></html>\n`,
  ].join("");
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const HOST_LENGTH_MAX = 253; // Maximum length of a DNS name.
