import { lookup } from "node:dns/promises";
import { connect, isIP } from "node:net";
import { DomainError, isDomainError, privateAddressProblem } from "@berth/core";
import { defaultGitPort, type GitUrl } from "@berth/core/source";
import { mayConnect, mayUse, type PrivateHosts } from "@berth/host";

/**
 * An address of a host that accepted a connection. Later connections must use it, instead of resolving the name again.
 */
export interface ReachedAddress {
  readonly address: string;
  /** Whether the host was a name, so that its address must be pinned. */
  readonly isNamed: boolean;
}

const CONNECT_SECONDS_MAX = 10;

/**
 * Finds the address at which a repository's server answers.
 * @throws DomainError `source.unreachable`; `source.invalid` when every address is private and not allowed
 */
export async function reach(url: GitUrl, allowed: PrivateHosts, signal: AbortSignal): Promise<ReachedAddress> {
  const host = url.host.replace(/^\[|\]$/g, "");
  const port = url.port ?? defaultGitPort(url.scheme) ?? 0;
  const addresses = await addressesOf(host);
  const permitted = addresses.filter((address) => mayConnect(host, address, allowed));
  if (permitted.length === 0) {
    throw privateAddress(host, addresses[0] ?? "");
  }
  const problems: unknown[] = [];
  for (const address of permitted) {
    const problem = await problemOfConnecting({ host, address, port }, allowed, signal);
    if (problem === undefined) return { address, isNamed: isIP(host) === 0 };
    problems.push(problem);
  }
  const refused = problems.find((problem) => isDomainError(problem));
  if (refused !== undefined) throw refused;
  const reason = problems[0] instanceof Error ? problems[0].message : "no answer";
  throw new DomainError(
    "source.unreachable",
    `${host} does not answer on port ${port}: ${reason}. Check the address, or try again later.`,
    { cause: problems[0] },
  );
}

export const privateAddress = (host: string, address: string) =>
  new DomainError("source.invalid", privateAddressProblem(host, address));

async function addressesOf(host: string): Promise<string[]> {
  try {
    // IPv4 first: a machine without IPv6 often still resolves names to it.
    const found = await lookup(host, { all: true, order: "ipv4first" });
    return found.map(({ address }) => address);
  } catch (cause) {
    throw new DomainError("source.unreachable", `The host ${host} is not known. Check the address of the repository.`, {
      cause,
    });
  }
}

function problemOfConnecting(
  { host, address, port }: { readonly host: string; readonly address: string; readonly port: number },
  allowed: PrivateHosts,
  signal: AbortSignal,
): Promise<unknown> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, signal });
    const end = (problem: unknown) => {
      socket.destroy();
      resolve(problem);
    };
    socket.setTimeout(CONNECT_SECONDS_MAX * 1000, () =>
      end(new Error(`no answer within ${CONNECT_SECONDS_MAX} seconds`)),
    );
    socket.once("connect", () => end(mayUse(socket, host, allowed) ? undefined : privateAddress(host, address)));
    socket.once("error", end);
  });
}
