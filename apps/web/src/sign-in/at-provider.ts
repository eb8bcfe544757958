import { client } from "../api/client.ts";

/** What the page keeps while the browser is at the provider: in this tab alone. */
const KEY = "berth.provider";

interface Kept {
  readonly key: string;
  /** `connect`: by who is signed in. */
  readonly purpose: "sign-in" | "connect";
  /** The page that was wanted. */
  readonly to: string;
}

/** Leaves for the provider. */
export async function goToProvider(provider: string, purpose: Kept["purpose"], to: string): Promise<void> {
  const begun = purpose === "connect" ? client.auth.identities.begin : client.auth.providers.begin;
  const { url, key } = await begun.mutate({ provider });
  sessionStorage.setItem(KEY, JSON.stringify({ key, purpose, to } satisfies Kept));
  window.location.assign(url);
}

export function keptForProvider(): Kept | undefined {
  const text = sessionStorage.getItem(KEY);
  // Written above alone.
  return text === null ? undefined : (JSON.parse(text) as Kept);
}

export const forgetProvider = (): void => sessionStorage.removeItem(KEY);
