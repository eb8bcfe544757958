import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RegistryLogin } from "@berth/core/ports";
import { followProgress, statusCodeOf } from "@berth/docker-client";
import { eventually } from "@berth/testing";
import type Docker from "dockerode";

export interface TestRegistry {
  /** Host and port. */
  readonly address: string;
  /** A Docker configuration with this registry's login. */
  readonly configFile: string;
  readonly password: string;
  /** The login in the form in which Berth stores it. */
  readonly login: RegistryLogin;
  /** Pushes an image of the engine to a repository of this name. */
  push(image: string, repository: string, tag: string): Promise<void>;
  close(): Promise<void>;
}

const PASSWORD = "s3cret-canary";
// Hash of the password above, with the lowest cost.
const HTPASSWD = "bob:$2a$05$ezeQvZ1yM97e.LP3Ibb8k.y6/lp.VSK.H9jCZEoM8sTp5PnJ2z/N6\n";

/** A registry on loopback that requires a login. */
export async function testRegistry(docker: Docker): Promise<TestRegistry> {
  const folder = mkdtempSync(join(tmpdir(), "berth-registry-"));
  writeFileSync(join(folder, "htpasswd"), HTPASSWD, { mode: 0o644 });
  const container = await docker.createContainer({
    Image: "registry:2",
    Labels: { "berth.test": folder },
    ExposedPorts: { "5000/tcp": {} },
    Env: ["REGISTRY_AUTH=htpasswd", "REGISTRY_AUTH_HTPASSWD_REALM=r", "REGISTRY_AUTH_HTPASSWD_PATH=/auth/htpasswd"],
    HostConfig: {
      PortBindings: { "5000/tcp": [{ HostIp: "127.0.0.1", HostPort: "" }] },
      Binds: [`${folder}:/auth:ro`],
    },
  });
  await container.start();
  const { NetworkSettings } = await container.inspect();
  const address = `127.0.0.1:${NetworkSettings.Ports["5000/tcp"]?.[0]?.HostPort}`;
  await eventually(async () => {
    const { status } = await fetch(`http://${address}/v2/`);
    if (status !== 401) throw new Error(`The registry answers ${status}.`);
  });
  const configFile = join(folder, "config.json");
  const auth = Buffer.from(`bob:${PASSWORD}`).toString("base64");
  writeFileSync(configFile, JSON.stringify({ auths: { [address]: { auth } } }));
  return {
    address,
    configFile,
    password: PASSWORD,
    login: { address, username: "bob", password: PASSWORD },
    async push(image, repository, tag) {
      const repo = `${address}/${repository}`;
      await docker.getImage(image).tag({ repo, tag });
      const authconfig = { username: "bob", password: PASSWORD, serveraddress: address };
      const stream = await docker.getImage(`${repo}:${tag}`).push({ authconfig });
      await followProgress(stream, { signal: new AbortController().signal, onLine: () => undefined });
      await docker.getImage(`${repo}:${tag}`).remove();
    },
    async close() {
      await container.remove({ force: true, v: true });
      await forget(docker, address);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes images with names in this registry. */
async function forget(docker: Docker, address: string): Promise<void> {
  for (const { RepoTags, RepoDigests } of await docker.listImages({ filters: { reference: [`${address}/*/*`] } })) {
    const names = [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter((name) => name.startsWith(`${address}/`));
    for (const name of names) {
      // Removing the last tag also removes the digest.
      await docker
        .getImage(name)
        .remove({ noprune: true })
        .catch((error: unknown) => statusCodeOf(error) === 404 || Promise.reject(error));
    }
  }
}
