import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { RegistryLogin } from "@berth/core/ports";
import { DOCKER_HUB, registryAddress } from "@berth/core/server";
import { z } from "zod";

/** Login for one registry, in the form of the engine's API. */
export interface EngineLogin {
  readonly username: string;
  readonly password: string;
  readonly serveraddress: string;
}

/** Logins by the registry's address, as it appears in image names. */
export type RegistryLogins = ReadonlyMap<string, EngineLogin>;

export interface LoginSources {
  /**
   * Docker configuration with logins, e.g. `~/.docker/config.json`. Logins stored by a credential helper are not used.
   */
  readonly dockerConfigFile?: string | undefined;
  /** Logins stored by Berth, which take precedence. */
  readonly recordedLogins?: (() => Promise<readonly RegistryLogin[]>) | undefined;
}

/** Read for each use, so that new logins take effect. A missing or invalid file has none. */
export async function readLogins({ dockerConfigFile, recordedLogins }: LoginSources): Promise<RegistryLogins> {
  const text = dockerConfigFile === undefined ? "" : await readFile(dockerConfigFile, "utf8").catch(() => "");
  const recorded = (await recordedLogins?.()) ?? [];
  return new Map([...loginsOf(text), ...recorded.map((login) => [login.address, engineLogin(login)] as const)]);
}

const engineLogin = ({ address, username, password }: RegistryLogin): EngineLogin => ({
  username,
  password,
  serveraddress: address === DOCKER_HUB ? HUB_SERVER : address,
});

/** Key of Docker Hub in every Docker configuration. */
const HUB_SERVER = "https://index.docker.io/v1/";

function loginsOf(text: string): RegistryLogins {
  const read = Config.safeParse(parsed(text));
  if (!read.success) return new Map();
  return new Map(
    Object.entries(read.data.auths).flatMap(([address, { auth, username, password }]) => {
      const [, user = "", secret = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(auth, "base64").toString("utf8")) ?? [];
      const login = { username: username || user, password: password || secret, serveraddress: address };
      return login.username === "" ? [] : [[registryAddress(address), login] as const];
    }),
  );
}

/** A configuration with these logins only: without credential helpers, contexts or other settings of Berth's user. */
export function dockerConfig(logins: RegistryLogins, pluginFolders: readonly string[]): string {
  const auths = [...logins.values()].map(({ username, password, serveraddress }) => [
    serveraddress,
    { auth: Buffer.from(`${username}:${password}`).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths), cliPluginsExtraDirs: pluginFolders });
}

/** Docker plugins that a user installed; the system's folders are searched anyway. */
export const pluginFolders = (): string[] => [join(homedir(), ".docker", "cli-plugins")];

const Login = z.object({
  auth: z.string().default(""),
  username: z.string().default(""),
  password: z.string().default(""),
});
const Config = z.object({ auths: z.record(z.string(), Login).default({}) });

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
