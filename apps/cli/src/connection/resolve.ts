import { lstat, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { runningServersFolder } from "@berth/core/server";
import { z } from "zod";
import { EXIT, Failure, usage } from "../failure.ts";
import { printable } from "../printable.ts";
import { readJsonFile } from "../private-file.ts";
import type { System } from "../system.ts";
import { type Context, configPath, readConfig } from "./config-file.ts";

export interface Connection extends Context {
  /** Source of the connection, for messages: `the context prod`. */
  readonly origin: string;
  /** Data folder of a server on this machine, if the connection was found in it. */
  readonly dataFolder?: string;
  /** Told once, since nobody named this server. */
  readonly note?: string;
}

type LocalSystem = Pick<System, "env" | "homeFolder" | "isRoot" | "cwd">;

/**
 * Selects the server of a command: the named context, else BERTH_URL and BERTH_TOKEN, else the current context, else
 * the server on this machine.
 */
export async function resolveConnection(place: LocalSystem, contextName: string | undefined): Promise<Connection> {
  const config = await readConfig(configPath(place));
  if (contextName !== undefined) {
    const context = contextNamed(config.contexts, contextName);
    return { ...context, origin: `the context ${contextName}` };
  }
  const fromEnvironment = await environmentConnection(place, config.contexts);
  if (fromEnvironment) return fromEnvironment;
  if (config.current !== null) {
    const context = contextNamed(config.contexts, config.current);
    return { ...context, origin: `the context ${config.current}` };
  }
  const local = await localServer(place);
  if (local) return local;
  throw new Failure("No server is configured yet.", {
    details: [
      "Log in with: berth login URL",
      "Or set BERTH_URL and BERTH_TOKEN, or start a server on this machine with: npm start",
    ],
  });
}

export function contextNamed(contexts: Readonly<Record<string, Context>>, name: string): Context {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context) return context;
  const names = Object.keys(contexts);
  throw new Failure(`No connection is named ${name}.`, {
    exitCode: EXIT.usage,
    details: [names.length > 0 ? `There are: ${names.join(", ")}` : "Make one with: berth login URL"],
  });
}

async function environmentConnection(
  place: LocalSystem,
  contexts: Readonly<Record<string, Context>>,
): Promise<Connection | undefined> {
  const { BERTH_URL, BERTH_TOKEN } = place.env;
  if (!BERTH_URL && !BERTH_TOKEN) return undefined;
  if (!BERTH_URL) throw usage("BERTH_TOKEN is set, but BERTH_URL is not.", ["Set both, or neither."]);
  const url = serverUrl(BERTH_URL);
  if (BERTH_TOKEN) return { url, token: BERTH_TOKEN, origin: "BERTH_URL and BERTH_TOKEN" };
  const known = Object.values(contexts).find((context) => context.url === url) ?? (await localServer(place));
  if (known?.url === url) return { url, token: known.token, origin: "BERTH_URL" };
  throw new Failure(`BERTH_URL is set, but no token is saved for ${url}.`, {
    details: ["Set BERTH_TOKEN too, or log in with: berth login URL"],
  });
}

const LocalServer = z.object({ url: z.string(), token: z.string() });

/** The server of BERTH_DATA, else of the usual data folder, else the one of this user that runs with another folder. */
async function localServer(place: LocalSystem): Promise<Connection | undefined> {
  const { env, homeFolder, isRoot, cwd } = place;
  if (env.BERTH_DATA) return await serverIn(resolve(cwd, env.BERTH_DATA));
  const usual = isRoot ? "/var/lib/berth" : join(homeFolder, ".berth");
  if (await isRunning(usual)) return await serverIn(usual);
  const [only, ...others] = (await runningServers(place)).filter((folder) => folder !== usual);
  if (only === undefined) return await serverIn(usual);
  if (others.length > 0) {
    throw usage("Several servers of yours run on this machine. Choose one by its data folder:", [
      ...[only, ...others].map((folder) => `BERTH_DATA=${printable(folder)}`),
    ]);
  }
  const found = await serverIn(only);
  return found && { ...found, note: `Server of ${printable(only)}, ${found.url}` };
}

/** The server writes this file on its first start, readable for its own user only. */
async function serverIn(folder: string): Promise<Connection | undefined> {
  const path = join(folder, "cli.json");
  const local = await readJsonFile(path, LocalServer);
  return local && { url: serverUrl(local.url), token: local.token, origin: path, dataFolder: folder };
}

const Announced = z.object({ data_folder: z.string() });

/** Data folders of the servers that say at their start that they run. */
async function runningServers({ env, homeFolder }: LocalSystem): Promise<readonly string[]> {
  const folder = runningServersFolder(homeFolder, env);
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(names.map((name) => readJsonFile(join(folder, name), Announced)));
  const folders = found.flatMap((each) => each?.data_folder ?? []);
  const states = await Promise.all(folders.map(isRunning));
  return folders.filter((_, index) => states[index]).sort();
}

/** A folder of another user's may be in a shared place, and would lead to a server of theirs. */
async function isRunning(dataFolder: string): Promise<boolean> {
  try {
    const pid = Number(await readFile(join(dataFolder, "server.pid"), "utf8"));
    if (!(pid > 0) || (await lstat(dataFolder)).uid !== process.getuid?.()) return false;
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Normalises a server's address: no trailing slash, and no `/api/v1`, which users copy from the documentation.
 * `berth.example.com` means https, `localhost:8000` http.
 */
export function serverUrl(text: string): string {
  const isLocal = /^(localhost|127\.|\[::1\])/.test(text);
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `${isLocal ? "http" : "https"}://${text}`);
  if (!url || url.username || url.password || url.search || url.hash) {
    throw usage(`"${text}" is not the address of a server.`, ["It looks like https://berth.example.com."]);
  }
  return url.href.replace(/\/+$/, "").replace(/\/api(\/v1)?$/, "");
}
