/** What the page sends to prove who uses it. Kept where other ports of the same host name do not see it. */
const KEY = "berth.token";

export const isSignedIn = (): boolean => localStorage.getItem(KEY) !== null;
export const saveToken = (token: string): void => localStorage.setItem(KEY, token);
export const forgetSession = (): void => localStorage.removeItem(KEY);

export function authorization(): Record<string, string> {
  const token = localStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}
