import { spawn } from "node:child_process";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import ssh2, { type AuthContext, type ServerChannel } from "ssh2";

/** git over ssh on the loopback, for repositories in one folder, read only. */
export interface GitSshServer {
  readonly port: number;
  /** `ssh://git@127.0.0.1:PORT`, without a slash at its end. */
  readonly url: string;
  /** Requested commands, in order. */
  readonly commands: readonly string[];
  close(): Promise<void>;
}

export interface SshKeyPair {
  /** OpenSSH's own form. */
  readonly privateKey: string;
  /** One line, as in `authorized_keys`. */
  readonly publicKey: string;
}

export function sshKeyPair(): SshKeyPair {
  for (;;) {
    const { private: privateKey, public: publicKey } = ssh2.utils.generateKeyPairSync("ed25519");
    // It leaves out a zero byte that a public key begins with, as one of 256 does, and nobody can read that key.
    if (!(ssh2.utils.parseKey(privateKey) instanceof Error)) return { privateKey, publicKey };
  }
}

/** @param options.root Holds the repositories: `root/app` is `url/app`. Only who has the key of `publicKey` gets in. */
export async function startGitSshServer(options: {
  readonly root: string;
  readonly publicKey: string;
}): Promise<GitSshServer> {
  const commands: string[] = [];
  const server = new ssh2.Server({ hostKeys: [sshKeyPair().privateKey] }, (client) => {
    client.on("error", () => undefined); // Who is not let in hangs up.
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
  const { port } = server.address() as AddressInfo; // It listens on a port, not on a pipe.
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
  // Without a signature it only asks whether the key would do.
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
  child.stdin.on("error", () => undefined); // git may end before it has read everything.
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.on("close", (code) => end(channel, code ?? 1));
}

function end(channel: ServerChannel, code: number): void {
  channel.exit(code);
  channel.end();
}
