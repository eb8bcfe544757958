import { DomainError } from "@berth/core";

/** Address and login of a server. */
export interface SshTarget {
  /** Name of the server, for messages. */
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly user: string;
  readonly connectTimeoutSeconds: number;
}

const unreachable = (message: string, cause?: unknown) => new DomainError("server.unreachable", message, { cause });

/** The error for a failed connect, with a remedy. */
export function connectFailure(target: SshTarget, cause: unknown): DomainError {
  const { name, ip, port } = target;
  const { code, level, message } = detailsOf(cause);
  const where = `Server ${name} (${ip}, port ${port})`;
  if (level === "client-authentication") return loginRefused(target, cause);
  if (level === "client-timeout") return timedOut(target, cause);
  const known = code === undefined ? undefined : BY_CODE[code];
  if (known !== undefined) return unreachable(known(target), cause);
  if (/before handshake/i.test(message)) {
    return unreachable(
      `${where} closed the connection before the SSH handshake. Check that sshd listens on that port, and that its limits (MaxStartups, PerSourcePenalties, fail2ban) let Berth in.`,
      cause,
    );
  }
  if (/identification|ident/i.test(message) || level === "protocol") {
    return unreachable(`${where} does not speak SSH. Check the port of the server.`, cause);
  }
  if (/no matching/i.test(message)) {
    return unreachable(`${where} offers only outdated SSH algorithms. Update OpenSSH there.`, cause);
  }
  return unreachable(`The SSH connection to server ${name} failed: ${message || "no reason was given"}.`, cause);
}

const refused = ({ name, ip, port }: SshTarget) =>
  `Server ${name} refused the connection on ${ip}, port ${port}. Check that sshd runs there and listens on that port.`;
const unresolved = ({ name, ip }: SshTarget) =>
  `The host name ${ip} of server ${name} cannot be resolved. Check the address of the server and the name service of Berth's own machine.`;
const noRoute = ({ name, ip }: SshTarget) =>
  `No route to ${ip}, the address of server ${name}. Check the address, and the network between Berth and the server.`;
const slow = ({ name, ip, port, connectTimeoutSeconds }: SshTarget) =>
  `Server ${name} (${ip}, port ${port}) did not answer within ${connectTimeoutSeconds} s. Check that it is switched on and that no firewall drops the port, or raise connection_timeout.`;
const reset = ({ name, ip, port }: SshTarget) =>
  `Server ${name} (${ip}, port ${port}) closed the connection. Check that sshd listens on that port, and that no firewall or fail2ban keeps Berth out.`;

const BY_CODE: Readonly<Record<string, (target: SshTarget) => string>> = {
  ECONNREFUSED: refused,
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  EAI_NODATA: unresolved,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  EHOSTDOWN: noRoute,
  EADDRNOTAVAIL: noRoute,
  ETIMEDOUT: slow,
  ECONNRESET: reset,
  EPIPE: reset,
};

export const privateAddressError = ({ name, ip }: SshTarget) =>
  unreachable(
    `The address ${ip} of server ${name} is private. This instance connects to private addresses for its root team alone: let its operator name the host in BERTH_ALLOWED_PRIVATE_HOSTS, or use an address that is public.`,
  );

export const ownMachineError = ({ name, ip }: SshTarget) =>
  unreachable(
    `The address ${ip} of server ${name} is Berth's own machine, which only the root team adds as a server. Give the server its own address.`,
  );

const timedOut = (target: SshTarget, cause: unknown) => unreachable(slow(target), cause);

const loginRefused = ({ name, user }: SshTarget, cause: unknown) =>
  unreachable(
    `Server ${name} refused the login ${user} with its key. Add the public key to the file .ssh/authorized_keys of ${user} there, or give the server another key or user.`,
    cause,
  );

export const keyUnreadable = ({ name }: SshTarget) =>
  unreachable(`The private key of server ${name} cannot be read. Give the server another key.`);

export const hostKeyChanged = ({ name }: SshTarget, pinned: string, offered: string) =>
  unreachable(
    `Server ${name} shows the host key ${offered}, but ${pinned} was recorded, so nothing was sent. If the machine was reinstalled, compare the new key with \`ssh-keygen -lf\` there and set host_key to null; otherwise somebody may intercept the connection.`,
  );

export const connectionLost = (name: string, cause?: unknown) =>
  unreachable(`The SSH connection to server ${name} was lost. Try again.`, cause);

export const connectionClosed = (name: string) =>
  unreachable(`The SSH connection to server ${name} was closed, since the server changed or is no longer managed.`);

/** The machine answers, but refuses another session. */
export const sessionRefused = (name: string, cause: unknown) =>
  unreachable(
    `Server ${name} refused a session for a program. Check MaxSessions (10 or more) and ForceCommand in its sshd_config, and that its login has a shell.`,
    cause,
  );

export const filesRefused = (name: string, cause: unknown) =>
  unreachable(
    `Server ${name} does not offer SFTP. Set "Subsystem sftp internal-sftp" in its sshd_config and restart sshd.`,
    cause,
  );

/** The login shell's startup files printed text before the SFTP protocol began. */
export const filesGarbled = (name: string, cause: unknown) =>
  unreachable(
    `Server ${name} prints text at login, so no files can be sent there. Make its startup files (.bashrc, .profile) silent for non-interactive shells, or set "Subsystem sftp internal-sftp" in its sshd_config and restart sshd.`,
    cause,
  );

/** Recognised by the code in RFC 4254, 5.1, which OpenSSH uses for TCP only. */
export function addressRefused(name: string, address: string, cause: unknown): DomainError {
  if (detailsOf(cause).reason === PROHIBITED) {
    const message = `Server ${name} forbids TCP connections over SSH. Set "AllowTcpForwarding yes" in its sshd_config and restart sshd.`;
    return unreachable(message, cause);
  }
  return new DomainError("engine.unreachable", `Nothing answers on ${address} of server ${name}.`, { cause });
}

/** State of the socket file, since OpenSSH reports all failures alike. */
export type SocketState = "missing" | "closed" | "open";

export function socketRefused(
  { name, user }: SshTarget,
  path: string,
  state: SocketState,
  cause: unknown,
): DomainError {
  const sentences: Readonly<Record<SocketState, string>> = {
    missing: `Socket ${path} does not exist on server ${name}. Check that Docker is installed and running there.`,
    closed: `The login ${user} of server ${name} may not open ${path}. Add it to the group that may (\`usermod -aG docker ${user}\`), or use another login.`,
    open: `The socket ${path} of server ${name} does not answer. Check that Docker runs there, and that its sshd_config has "AllowStreamLocalForwarding yes".`,
  };
  return new DomainError("engine.unreachable", sentences[state], { cause });
}

const PROHIBITED = 1;

/** Extra fields of ssh2's errors. */
export function detailsOf(cause: unknown): {
  readonly message: string;
  readonly code?: string | undefined;
  readonly level?: string | undefined;
  readonly reason?: number | undefined;
} {
  if (!(cause instanceof Error)) return { message: "" };
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
  const level = "level" in cause && typeof cause.level === "string" ? cause.level : undefined;
  const reason = "reason" in cause && typeof cause.reason === "number" ? cause.reason : undefined;
  return { message: cause.message, code, level, reason };
}
