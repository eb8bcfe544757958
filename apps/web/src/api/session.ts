/**
 * The half of the session that the page keeps; the other half is in a cookie that scripts cannot read. Cookies know no
 * ports, this storage does: an application on another port of the same host name has never both.
 */
const KEY = "berth.session-key";
const SESSION_KEY_HEADER = "x-berth-session-key";

const savedKey = (): string | null => localStorage.getItem(KEY);
export const isSignedIn = (): boolean => savedKey() !== null;
export const saveSession = (key: string): void => localStorage.setItem(KEY, key);
export const forgetSession = (): void => localStorage.removeItem(KEY);

export function sessionHeaders(): Record<string, string> {
  const key = savedKey();
  return key === null ? {} : { [SESSION_KEY_HEADER]: key };
}

/** The same for a WebSocket, which a page cannot give headers. */
export function sessionParams(): Record<string, string> | null {
  const key = savedKey();
  return key === null ? null : { session_key: key };
}

/** A page of another session, or of none, begins anew: what it had open, and its socket, are of the old one. */
export const openAnew = (path: string): void => window.location.assign(path);
