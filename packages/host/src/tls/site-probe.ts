import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import type { MissingCertificate, NameAddresses, SeenCertificate } from "@berth/core/ports";
import { guardedSocket } from "../http/guarded-socket.ts";
import { HttpFault } from "../http/http-fault.ts";
import { mayConnect, type PrivateHosts } from "../http/private-hosts.ts";

interface PresentedBy {
  readonly host: string;
  readonly port: number;
  /** Address or name of the server whose proxy is asked. */
  readonly server: string;
  /** Private addresses that it may have. */
  readonly privateHosts: PrivateHosts;
  /** For the connection, and for the certificate. Default: 5. */
  readonly secondsMax?: number | undefined;
}

interface NameServiceOptions {
  /** Addresses with ports. Default: those of this machine. */
  readonly nameServers?: readonly string[] | undefined;
  /** Default: 5. */
  readonly secondsMax?: number | undefined;
}

/**
 * Addresses of a name, for people who may not know the network of this machine: private ones that are not allowed are
 * left out.
 */
export async function addressesOf(
  host: string,
  allowed: PrivateHosts,
  options: NameServiceOptions = {},
): Promise<NameAddresses> {
  const all = [...new Set(await resolved(host, options))];
  // Public addresses of this machine are those that a DNS record of its sites should have.
  const addresses = all.filter((address) => mayConnect(host, address, allowed, () => false));
  return { addresses: addresses.slice(0, ADDRESSES_MAX), hasHidden: addresses.length < all.length };
}

/**
 * Asks DNS itself. The `lookup` of Node.js would occupy a thread of the process for as long as a name server is silent,
 * and there are few of them: every connection to a name would wait.
 */
async function resolved(host: string, { nameServers, secondsMax = SECONDS_MAX }: NameServiceOptions) {
  if (isIP(host) !== 0) return [host];
  if (LOCALHOST.test(host)) return ["127.0.0.1", "::1"];
  const resolver = new Resolver({ timeout: (secondsMax * 1000) / 2, tries: 1 });
  if (nameServers !== undefined) resolver.setServers(nameServers);
  // There may be several name servers, and each has its own time.
  const timer = setTimeout(() => resolver.cancel(), secondsMax * 1000);
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  clearTimeout(timer);
  return found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}

/** The certificate that a server presents for a name. It is read, not trusted: nothing is sent over the connection. */
export async function presentedCertificate(by: PresentedBy): Promise<SeenCertificate | MissingCertificate> {
  const { host, port, server, privateHosts, secondsMax = SECONDS_MAX } = by;
  try {
    const bounds = { allowedPrivateHosts: privateHosts, secondsMax };
    const plain = await guardedSocket({ host: server, port, ...bounds });
    // An address has no name to send, by RFC 6066.
    const named = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ socket: plain, rejectUnauthorized: false, ...named });
    try {
      await secured(socket, server, secondsMax);
      return seenCertificate(host, socket);
    } finally {
      socket.destroy();
    }
  } catch (cause) {
    return { failure: failureOf(port, cause), isReached: !(cause instanceof HttpFault) };
  }
}

function seenCertificate(host: string, socket: TLSSocket): SeenCertificate | MissingCertificate {
  const certificate: PeerCertificate = socket.getPeerCertificate();
  // Empty where the other side has presented none.
  if (certificate.valid_to === undefined) return { failure: "The proxy presents no certificate.", isReached: true };
  const { O, CN } = certificate.issuer;
  const startsAt = new Date(certificate.valid_from);
  const expiresAt = new Date(certificate.valid_to);
  const isForName = checkServerIdentity(host, certificate) === undefined;
  // Its type is `Error`; Node documents and sets the code as a text.
  const untrusted = socket.authorizationError as unknown as string | Error | null;
  const problem = !isForName
    ? "The certificate is for another name."
    : untrusted
      ? `Browsers do not trust its authority (${untrusted instanceof Error ? untrusted.message : untrusted}).`
      : null;
  return { issuer: firstOf(O) ?? firstOf(CN), startsAt, expiresAt, isForName, problem };
}

const firstOf = (text: string | string[] | undefined): string | null => [text].flat()[0] ?? null;

/** Bounded as a whole, since bytes that arrive one by one would keep an idle timeout from ending. */
async function secured(socket: TLSSocket, server: string, secondsMax: number): Promise<void> {
  const late = () => new HttpFault("timed_out", server, `${server} did not answer within ${secondsMax} seconds.`);
  const timer = setTimeout(() => socket.destroy(late()), secondsMax * 1000);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("secureConnect", () => resolve());
      // Many proxies end a handshake for a name that they do not know.
      socket.once("close", () => reject(new Error("it ended the connection")));
    });
  } finally {
    clearTimeout(timer);
  }
}

function failureOf(port: number, cause: unknown): string {
  if (cause instanceof HttpFault) return `The proxy does not answer on port ${port}: ${cause.message}`;
  const why = cause instanceof Error ? cause.message.split("\n", 1)[0] : String(cause);
  return `The proxy presents no certificate (${why}).`;
}

const SECONDS_MAX = 5;
const ADDRESSES_MAX = 16;
/** Names that mean the machine itself, without a record. */
const LOCALHOST = /(^|\.)localhost$/;
