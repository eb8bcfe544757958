import type Docker from "dockerode";

/**
 * Sends each option either in the query or in the body, as the engine expects. The library repeats the body in the
 * URL, including variables: an engine in debug mode and proxies would log it, and engines refuse URLs from about 1 MB
 * on. It also puts the platform specification into a header.
 */
export function withQueryAndBody(docker: Docker): Docker {
  const { modem } = docker;
  const dial: typeof modem.dial = modem.dial.bind(modem);
  modem.dial = (request, callback) => dial(apart(request), callback);
  return docker;
}

type Request = Parameters<Docker["modem"]["dial"]>[0];

function apart({ authconfig, ...request }: Request): Request {
  const credentials = isCredentials(authconfig) ? { authconfig } : {};
  const { method, path, options = {} } = request;
  const hasBoth = method === "POST" && path.endsWith("?") && Object.keys(options).length > 0 && !("_query" in options);
  return { ...request, ...credentials, ...(hasBoth ? { options: partsOf(options) } : {}) };
}

/** In the engine's API, query parameters begin with a small letter and fields of a body with a capital one. */
function partsOf(options: Record<string, unknown>) {
  const entries = Object.entries(options).filter(([name]) => !NO_PARAMETERS.has(name));
  const isOfBody = ([name]: readonly [string, unknown]) => /^[A-Z]/.test(name);
  return {
    _query: Object.fromEntries(entries.filter((entry) => !isOfBody(entry))),
    _body: Object.fromEntries(entries.filter(isOfBody)),
  };
}

// Options that the library itself uses.
const NO_PARAMETERS: ReadonlySet<string> = new Set(["abortSignal", "authconfig", "registryconfig"]);

const CREDENTIALS = ["username", "password", "auth", "identitytoken", "registrytoken", "key", "base64"];

const isCredentials = (value: unknown): boolean =>
  typeof value === "object" && value !== null && CREDENTIALS.some((name) => name in value);
