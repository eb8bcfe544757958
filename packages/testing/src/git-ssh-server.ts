import { spawn } from "node:child_process";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import ssh2, { type AuthContext, type ServerChannel } from "ssh2";

/** git over SSH on loopback, for the repositories of a folder, read only. */
export interface GitSshServer {
  readonly port: number;
  /** `ssh://git@127.0.0.1:PORT` without a trailing slash. */
  readonly url: string;
  /** Requested commands, in order. */
  readonly commands: readonly string[];
  close(): Promise<void>;
}

export interface SshKeyPair {
  /** In OpenSSH's format. */
  readonly privateKey: string;
  /** One line in the format of `authorized_keys`. */
  readonly publicKey: string;
}

export function sshKeyPair(): SshKeyPair {
  for (;;) {
    const { private: privateKey, public: publicKey } = ssh2.utils.generateKeyPairSync("ed25519");
    // ssh2 drops a leading zero byte of a public key, which happens for one in 256 keys, and the key is then invalid:
    // retry.
    if (!(ssh2.utils.parseKey(privateKey) instanceof Error)) return { privateKey, publicKey };
  }
}

/**
 * @param options.root Folder of the repositories: `root/app` is `url/app`. Only the owner of `publicKey` may log in.
 */
export async function startGitSshServer(options: {
  readonly root: string;
  readonly publicKey: string;
}): Promise<GitSshServer> {
  const commands: string[] = [];
  const server = new ssh2.Server({ hostKeys: [sshKeyPair().privateKey] }, (client) => {
    client.on("error", () => undefined); // A client that is refused closes the connection.
    client.on("authentication", (context) =>
      mayEnter(context, options.publicKey) ? context.accept() : context.reject(["publickey"]),
    );
    client.on("session", (accept) => {
      accept().on("exec", (acceptExec, _reject, { command }) => {
        commands.push(command);
        serve(options.root, command, acceptExec());
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  return {
    port,
    url: `ssh://git@127.0.0.1:${port}`,
    commands,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function mayEnter(context: AuthContext, publicKey: string): boolean {
  const known = ssh2.utils.parseKey(publicKey);
  if (context.method !== "publickey" || known instanceof Error) return false;
  if (!context.key.data.equals(known.getPublicSSH())) return false;
  // A request without a signature only asks whether the key would be accepted.
  const { signature, blob } = context;
  return signature === undefined || (blob !== undefined && known.verify(blob, signature, context.hashAlgo) === true);
}

function serve(root: string, command: string, channel: ServerChannel): void {
  const path = /^git-upload-pack '([^']*)'$/.exec(command)?.[1];
  if (path === undefined || normalize(path).startsWith("..")) {
    end(channel, 128);
    return;
  }
  const child = spawn("git", ["-c", "safe.directory=*", "upload-pack", join(root, normalize(path))]);
  channel.pipe(child.stdin);
  child.stdin.on("error", () => undefined); // git may exit before it has read everything.
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.on("close", (code) => end(channel, code ?? 1));
}

function end(channel: ServerChannel, code: number): void {
  channel.exit(code);
  channel.end();
}
