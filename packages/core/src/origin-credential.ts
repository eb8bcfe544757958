/**
 * A secret that is valid for some origins (scheme, host and port) only. A caller asks for it with the address of the
 * call.
 */
export class OriginCredential<Secret> {
  readonly #secret: Secret;
  readonly origins: readonly string[];

  /** @param urls Any addresses at these origins. */
  constructor(urls: readonly string[], secret: Secret) {
    this.origins = urls.map(originOf);
    this.#secret = secret;
  }

  /** @returns `undefined` for other origins, and for plain http to other machines, where it could be intercepted. */
  for(url: string): Secret | undefined {
    return URL.canParse(url) && this.origins.includes(originOf(url)) && isPrivateWay(url) ? this.#secret : undefined;
  }
}

/** Scheme, host and port of an http or https URL, without the scheme's default port. */
export function originOf(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

export const isSameOrigin = (url: string, other: string): boolean => originOf(url) === originOf(other);

/** Whether only the receiver can read what is sent to a URL: https, or the loopback interface. */
export function isPrivateWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}

export const PRIVATE_WAY_PROBLEM = "Must begin with https://, since a credential is sent there. http is for loopback.";

const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
