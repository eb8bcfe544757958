/** The page to open after signing in; only those of this site are allowed. */
export function pathAfterSignIn(search: string): string {
  const wanted = new URLSearchParams(search).get("to")?.replace(/^"|"$/g, "") ?? "/";
  // Read as a browser does, which ignores tabs and line ends and takes a backslash for a slash.
  const url = URL.parse(wanted, ORIGIN);
  if (url === null || url.origin !== ORIGIN) return "/";
  // Two slashes would be read as the name of a site, also those that are left of `/.//`.
  if (/^\/(\/|sign-in)/.test(url.pathname)) return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}

const ORIGIN = "https://dashboard.invalid";
