/** Whether a URL of a service may be stored and shown. Its target is checked when it is called. */
export function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text) || /[\s\p{C}\\]/u.test(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === "");
}

export const PLAIN_HTTP_URL_PROBLEM = "Must be an http or https URL without login, query and fragment.";
