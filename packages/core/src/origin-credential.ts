/**
 * A secret that belongs to origins: scheme, host and port. Whoever calls out asks for the secret of the address that is
 * called, and gets it for these origins alone.
 */
export class OriginCredential<Secret> {
  readonly #secret: Secret;
  readonly origins: readonly string[];

  /** @param urls Any address at the origins. */
  constructor(urls: readonly string[], secret: Secret) {
    this.origins = urls.map(originOf);
    this.#secret = secret;
  }

  /** @returns `undefined` for every other origin, and for plain http beyond this machine, where it could be read. */
  for(url: string): Secret | undefined {
    return URL.canParse(url) && this.origins.includes(originOf(url)) && isPrivateWay(url) ? this.#secret : undefined;
  }
}

/** Scheme, host and port of an http or https URL, the port only where it is not the scheme's own. */
export function originOf(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

export const isSameOrigin = (url: string, other: string): boolean => originOf(url) === originOf(other);

/** Whether what is sent to a URL can be read by its receiver alone: https, or this machine's loopback. */
export function isPrivateWay(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
}

export const PRIVATE_WAY_PROBLEM = "Must begin with https://, since a credential is sent there. http is for loopback.";

const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
