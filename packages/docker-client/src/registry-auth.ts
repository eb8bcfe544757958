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

/** Logins by the registry's address, as images name it. */
export type RegistryLogins = ReadonlyMap<string, EngineLogin>;

export interface LoginSources {
  /**
   * Docker configuration with logins, e.g. `~/.docker/config.json`. Those that a helper program keeps are not in it.
   */
  readonly dockerConfigFile?: string | undefined;
  /** Logins that Berth stores. They win. */
  readonly recordedLogins?: (() => Promise<readonly RegistryLogin[]>) | undefined;
}

/** Read anew for each use: a login made meanwhile counts. A file that is not there or is no configuration has none. */
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

/** As every Docker configuration names it. */
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

/** A configuration with these logins only: no helper, no context, nothing else of the user who runs Berth. */
export function dockerConfig(logins: RegistryLogins, pluginFolders: readonly string[]): string {
  const auths = [...logins.values()].map(({ username, password, serveraddress }) => [
    serveraddress,
    { auth: Buffer.from(`${username}:${password}`).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths), cliPluginsExtraDirs: pluginFolders });
}

/** Where a person's own installation of docker's plugins lies; the system's folders are looked in anyway. */
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
