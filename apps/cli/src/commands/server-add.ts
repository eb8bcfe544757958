import { isIPv6 } from "node:net";
import { basename } from "node:path";
import { ServerCreate } from "@berth/core/server";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { inputStream } from "../input-stream.ts";
import { printable } from "../printable.ts";
import { readInput } from "../prompt.ts";
import type { Session } from "../session.ts";
import { validateServer } from "./server-validate.ts";

interface AddOptions {
  readonly key?: string;
  readonly install?: boolean;
  readonly [flag: string]: unknown;
}

export function defineAdd(command: Command, bind: Bind): void {
  const add = command
    .command("add")
    .description("Add a server by its address, and check it.")
    .argument("<address>", "where its sshd is: ADDRESS, LOGIN@ADDRESS or LOGIN@ADDRESS:PORT; default: root, port 22")
    .option(
      "--key <key>",
      "file of the private key, - for standard input, or name or uuid of one of the team; default: the only one of the team",
    )
    .option("--install", "install Docker, if the machine has Debian or Ubuntu");
  addFlags(add, FLAGS, "Of the server:");
  add.action(bind(addServer));
}

const FLAGS = flagsFor(ServerCreate.pick({ name: true, description: true, is_build_server: true, host_key: true }));

async function addServer(session: Session, address: string, options: AddOptions): Promise<ExitCode> {
  const { output } = session;
  const place = placeIn(address);
  const say = (line: string) => output.isJson || output.line(line);
  const { client } = await session.connect();
  const existing = (await client.servers.list.query({})).find(({ ip }) => ip === place.ip);
  if (existing?.settings.is_usable) {
    const name = printable(existing.name);
    throw usage(`Server ${name} has this address already. Change it with: berth servers update ${existing.uuid}`);
  }
  const fields = { ...valuesOf(FLAGS, options), ...place };
  // A first attempt may have had the wrong login or key, so a second one may replace them.
  const keepsKey = existing !== undefined && options.key === undefined;
  const key = keepsKey ? undefined : await keyOf(session, client, options.key);
  const saved = await save(client, { existing, fields, key }).catch(async (error: unknown) => {
    if (key?.isNew) await client.privateKeys.delete.mutate({ uuid: key.uuid }).catch(() => undefined);
    throw error;
  });
  const { name } = await client.servers.get.query({ uuid: saved.uuid });
  if (key?.isNew) say("Added the private key.");
  say(`${existing === undefined ? "Added server" : "Changed server"} ${printable(name)}. Berth checks it.`);
  const asked = { install_engine: options.install === true };
  const exitCode = await validateServer(session, { uuid: saved.uuid, name }, asked);
  if (exitCode === EXIT.failed) output.warn("The server is kept. Fix the problem above, then repeat the command.");
  return exitCode;
}

interface SavedServer {
  readonly existing: { readonly uuid: string } | undefined;
  readonly fields: Readonly<Record<string, unknown>> & { readonly ip: string };
  /** Default: that of the existing server. */
  readonly key: ChosenKey | undefined;
}

async function save(client: Api["client"], { existing, fields, key }: SavedServer): Promise<{ readonly uuid: string }> {
  const login = key && { private_key_uuid: key.uuid };
  // A wrong login or port of the first attempt does not stay.
  const defaults = { user: "root", port: 22 };
  if (existing !== undefined) {
    return client.servers.update.mutate({ ...defaults, ...fields, ...login, uuid: existing.uuid });
  }
  if (login === undefined) throw new Error("A new server has a key.");
  // Caddy switches releases without failed requests, and only Caddy shares the requests of a cluster with other nodes.
  return client.servers.create.mutate({ ...fields, ...login, proxy_type: "caddy" });
}

/** @throws Failure for what is not the address of an sshd */
export function placeIn(address: string): { readonly ip: string; readonly user?: string; readonly port?: number } {
  const [, login = "", host = ""] = /^(?:ssh:\/\/)?(.*@)?(.*)$/.exec(address) ?? [];
  const url = URL.parse(`ssh://${login}${isIPv6(host) ? `[${host}]` : host}`);
  const isPlace = url !== null && /^\/?$/.test(url.pathname) && url.search + url.hash + url.password === "";
  const ip = ServerCreate.shape.ip.safeParse(url?.hostname.replace(/^\[(.*)\]$/, "$1"));
  if (!isPlace || !ip.success || url.port === "0") {
    throw usage(`${printable(address)} is not an address. Examples: 10.0.0.1, deploy@web-1.example:2222`);
  }
  return {
    ip: ip.data,
    ...(url.username === "" ? {} : { user: url.username }),
    ...(url.port === "" ? {} : { port: Number(url.port) }),
  };
}

interface ChosenKey {
  readonly uuid: string;
  readonly isNew: boolean;
}

/** The team's key that is meant; a file that Berth does not have yet becomes one. */
async function keyOf(session: Session, client: Api["client"], wanted: string | undefined): Promise<ChosenKey> {
  const keys = await client.privateKeys.list.query({});
  const names = keys.map(({ name }) => printable(name)).join(", ") || "none";
  if (wanted === undefined) {
    // Deploy keys read repositories, so they are not meant.
    const [only, ...others] = keys.filter(({ is_git_related }) => !is_git_related);
    if (only !== undefined && others.length === 0) return { uuid: only.uuid, isNew: false };
    const question = "Say by which key Berth logs in: --key FILE, such as ~/.ssh/id_ed25519, or --key NAME.";
    throw usage(question, [`Keys of the team: ${names}.`]);
  }
  const isPath = wanted.includes("/");
  if (!isPath && keys.some(({ uuid, name }) => uuid === wanted || name === wanted)) {
    return { uuid: choose(wanted, keys, { thing: "private key" }).uuid, isNew: false };
  }
  const stdin = await inputStream(session.system, wanted).catch((cause: unknown) => {
    const message = `${printable(wanted)} is neither a key of the team (${names}) nor a file that can be read.`;
    throw new Failure(message, { cause });
  });
  const private_key = await readInput({ stdin });
  // Otherwise, Berth gives it a name.
  const isNameFree = wanted !== "-" && keys.every((key) => key.name !== basename(wanted));
  const name = isNameFree ? basename(wanted) : undefined;
  try {
    const { uuid } = await client.privateKeys.create.mutate({ name, private_key });
    return { uuid, isNew: true };
  } catch (error) {
    // A key is stored once. Without a uuid, an update selects the team's key with the same text.
    const known = await client.privateKeys.updateSent.mutate({ private_key }).catch(() => undefined);
    if (known === undefined) throw error;
    return { uuid: known.uuid, isNew: false };
  }
}
