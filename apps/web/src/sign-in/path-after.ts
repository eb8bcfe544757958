/** The page to open after signing in; only paths of this site are allowed. */
export function pathAfterSignIn(search: string): string {
  const wanted = new URLSearchParams(search).get("to")?.replace(/^"|"$/g, "") ?? "/";
  return /^\/(?![/\\])/.test(wanted) && !wanted.startsWith("/sign-in") ? wanted : "/";
}
