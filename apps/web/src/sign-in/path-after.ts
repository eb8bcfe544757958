/** Where the person wanted to go; only a path of this page, never another site. */
export function pathAfterSignIn(search: string): string {
  const wanted = new URLSearchParams(search).get("to")?.replace(/^"|"$/g, "") ?? "/";
  return /^\/(?![/\\])/.test(wanted) && !wanted.startsWith("/sign-in") ? wanted : "/";
}
