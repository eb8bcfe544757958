import type { CreatedSignInLink } from "@berth/core/team";
import { printable } from "./printable.ts";
import type { Session } from "./session.ts";

/** Shows the URL of a sign-in link, on the connected server if the server does not know its own URL. */
export async function showLink(
  session: Session,
  link: CreatedSignInLink,
  { isOpened }: { readonly isOpened: boolean },
): Promise<void> {
  const { output } = session;
  const { url: server } = await session.resolve();
  const url = link.url ?? `${server}/sign-in#code=${encodeURIComponent(link.code)}`;
  output.show({ ...link, url }, () => {
    output.line(printable(url));
    output.line("It works once, within 24 hours.");
  });
  if (!isOpened || !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return;
  const { default: open } = await import("open");
  const browser = await open(url);
  browser.on("error", () => output.warn("No browser could be started. Open the address yourself."));
}
