/**
 * The page's half of the session; the other half is in a cookie that scripts cannot read. Cookies are shared by all
 * ports of a host, this storage is not: so an application on another port never has both.
 */
const KEY = "berth.session-key";
const SESSION_KEY_HEADER = "x-berth-session-key";

export const sessionKey = (): string | null => localStorage.getItem(KEY);
export const isSignedIn = (): boolean => sessionKey() !== null;
export const saveSession = (key: string): void => localStorage.setItem(KEY, key);
export const forgetSession = (): void => localStorage.removeItem(KEY);

export function sessionHeaders(): Record<string, string> {
  const key = sessionKey();
  return key === null ? {} : { [SESSION_KEY_HEADER]: key };
}

/** The session's half for a WebSocket, which cannot have headers. */
export function sessionParams(): Record<string, string> | null {
  const key = sessionKey();
  return key === null ? null : { session_key: key };
}

/** Reloads the page for another session, so that queries and socket of the old one are dropped. */
export const reloadAt = (path: string): void => window.location.assign(path);

/** The sign-in, which afterwards opens the wanted page. */
export const signInFor = (wanted: string): string => `/sign-in?to=${encodeURIComponent(wanted)}`;
