import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

/** What one registry asks for, as the engine's API takes it. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
  readonly serveraddress: string;
}

/** Logins by the registry's host, as `docker login` writes them. */
export type RegistryLogins = ReadonlyMap<string, RegistryLogin>;

/**
 * Reads the logins of a Docker configuration, read anew for each use: a login made meanwhile counts. Those that a
 * helper program keeps are not in it.
 * @returns None when there is no such file or it is no configuration.
 */
export async function readLogins(configFile: string | undefined): Promise<RegistryLogins> {
  if (configFile === undefined) return new Map();
  const text = await readFile(configFile, "utf8").catch(() => "");
  return loginsOf(text);
}

export function loginsOf(text: string): RegistryLogins {
  const read = Config.safeParse(parsed(text));
  if (!read.success) return new Map();
  return new Map(
    Object.entries(read.data.auths).flatMap(([address, { auth, username, password }]) => {
      const [, user = "", secret = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(auth, "base64").toString("utf8")) ?? [];
      const login = { username: username || user, password: password || secret, serveraddress: address };
      return login.username === "" ? [] : [[registryHost(address), login] as const];
    }),
  );
}

/** A configuration with these logins only: no helper, no context, nothing else of whoever runs Berth. */
export function dockerConfig(logins: RegistryLogins, pluginFolders: readonly string[]): string {
  const auths = [...logins.values()].map(({ username, password, serveraddress }) => [
    serveraddress,
    { auth: Buffer.from(`${username}:${password}`).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths), cliPluginsExtraDirs: pluginFolders });
}

/** Where a person's own installation of docker's plugins lies; the system's folders are looked in anyway. */
export const pluginFolders = (): string[] => [join(homedir(), ".docker", "cli-plugins")];

/** The registry that an image's name leads to. */
export function registryOf(image: string): string {
  const [first = "", ...rest] = image.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return isHost ? registryHost(first) : DOCKER_HUB;
}

/** Of an address in a configuration, or of one that an engine asks about. */
export const registryHost = (address: string): string => {
  const host = address.replace(/^https?:\/\//, "").split("/")[0] ?? "";
  return host === "index.docker.io" || host === "registry-1.docker.io" ? DOCKER_HUB : host;
};

const DOCKER_HUB = "docker.io";

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
