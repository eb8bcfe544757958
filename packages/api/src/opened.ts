import type { OpenedSession, Visitor } from "@berth/control";
import type { SignedIn } from "@berth/core/team";
import { asTrpcError } from "./errors.ts";
import type { RequestContext } from "./trpc.ts";

/**
 * The origin of the page that asks, which its browser adds to whatever is not a plain read.
 * @throws DomainError `auth.foreign_page`
 */
export function pageOrigin({ browser }: RequestContext): string {
  if (browser === undefined) throw new TypeError("Passkeys need a request with headers.");
  return browser.requireOrigin();
}

/** The browser of a request that comes from Berth's own page. @throws DomainError `auth.foreign_page` */
export function ownPage({ browser }: RequestContext): NonNullable<RequestContext["browser"]> {
  if (browser === undefined) throw new TypeError("Sign-in needs a request with headers.");
  browser.requireOwnPage();
  return browser;
}

/** The cookie's half of the session goes into the cookie alone. */
export async function opened(
  ctx: RequestContext,
  open: (visitor: Visitor) => Promise<OpenedSession>,
): Promise<SignedIn> {
  try {
    const browser = ownPage(ctx);
    const { cookie, answer } = await open(browser.visitor);
    browser.setCookie(cookie);
    return answer;
  } catch (refusal) {
    throw asTrpcError(refusal);
  }
}
