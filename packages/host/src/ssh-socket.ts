import { connect, isIP, type Socket } from "node:net";
import type { DomainError } from "@berth/core";
import { connected } from "./connected-socket.ts";
import { guardedLookup } from "./http/guarded-lookup.ts";
import { mayConnect, mayUse, type PrivateHosts } from "./http/private-hosts.ts";
import { ownMachineError, privateAddressError, type SshTarget } from "./ssh-failure.ts";

/**
 * Connects to a server's SSH port. The name is resolved and checked only here, so that a name that changes afterwards
 * has no effect.
 *
 * @param privateHosts Private addresses that it may have; `undefined`: any, including this machine's own.
 * @throws DomainError `server.unreachable` for others, before anything is sent; the socket's own error
 */
export async function sshSocket(target: SshTarget, privateHosts: PrivateHosts | undefined): Promise<Socket> {
  const { ip, port, connectTimeoutSeconds } = target;
  const allowed = privateHosts ?? ["*"];
  const host = ip.replace(/^\[|\]$/g, "");
  const refusal = (): DomainError => privateAddressError(target);
  if (isIP(host) !== 0 && !mayConnect(host, host, allowed)) throw refusal();
  const socket = connect({ host, port, lookup: guardedLookup(allowed, refusal) });
  try {
    await connected(socket, connectTimeoutSeconds, late);
    // Any address of this machine, however it is spelled, public ones too.
    if (privateHosts !== undefined && !mayUse(socket, host, [])) throw ownMachineError(target);
    return socket;
  } catch (cause) {
    socket.destroy();
    throw cause;
  }
}

const late = () => Object.assign(new Error("No connection in time."), { level: "client-timeout" });
