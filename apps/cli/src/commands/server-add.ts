import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { basename, resolve } from "node:path";
import { ServerCreate } from "@berth/core/server";
import type { Command } from "commander";
import { choose } from "../choose.ts";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { EXIT, type ExitCode, Failure, usage } from "../failure.ts";
import { addFlags, flagsFor, valuesOf } from "../flags.ts";
import { printable } from "../printable.ts";
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
      "file of the private key, or name or uuid of one of the team; default: the only one of the team",
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
  // The first attempt may have had the wrong key, so that a second one mends it.
  const keepsKey = existing !== undefined && options.key === undefined;
  const key = keepsKey ? undefined : await keyOf(session, client, options.key);
  const asked = { ...valuesOf(FLAGS, options), ...place, ...(key && { private_key_uuid: key.uuid }) };
  let uuid: string;
  try {
    // A deployment through Caddy fails no request, and only its nodes can share the requests of a cluster.
    ({ uuid } =
      existing === undefined
        ? await client.servers.create.mutate({ private_key_uuid: "", ...asked, proxy_type: "caddy" })
        : await client.servers.update.mutate({ ...asked, uuid: existing.uuid }));
  } catch (error) {
    if (key?.isNew) await client.privateKeys.delete.mutate({ uuid: key.uuid }).catch(() => undefined);
    throw error;
  }
  const { name } = await client.servers.get.query({ uuid });
  if (key?.isNew) say(`Added the private key ${printable(key.name)}.`);
  say(`${existing === undefined ? "Added server" : "Changed server"} ${printable(name)}. Berth checks it.`);
  const exitCode = await validateServer(session, { uuid, name }, { install_engine: options.install === true });
  if (exitCode === EXIT.failed) {
    output.warn("It stays in the list. Repeat the command with what was missing to mend it.");
  }
  return exitCode;
}

/** @throws Failure for what is not the address of an sshd */
export function placeIn(address: string): { readonly ip: string; readonly user?: string; readonly port?: number } {
  const [, login = "", host = ""] = /^(?:ssh:\/\/)?(.*@)?(.*)$/.exec(address) ?? [];
  const url = URL.parse(`ssh://${login}${isIPv6(host) ? `[${host}]` : host}`);
  const isPlace = url !== null && url.hostname !== "" && /^\/?$/.test(url.pathname) && url.search + url.hash === "";
  if (!isPlace || url.password !== "") {
    throw usage(`${printable(address)} is not an address. Examples: 10.0.0.1, deploy@web-1.example:2222`);
  }
  return {
    ip: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    ...(url.username === "" ? {} : { user: decodeURIComponent(url.username) }),
    ...(url.port === "" ? {} : { port: Number(url.port) }),
  };
}

interface ChosenKey {
  readonly uuid: string;
  readonly name: string;
  readonly isNew: boolean;
}

/** The team's key that is meant; a file that Berth does not have yet becomes one. */
async function keyOf(session: Session, client: Api["client"], wanted: string | undefined): Promise<ChosenKey> {
  const keys = await client.privateKeys.list.query({});
  const names = keys.map(({ name }) => printable(name)).join(", ") || "none";
  if (wanted === undefined) {
    const [only, ...others] = keys;
    if (only !== undefined && others.length === 0) return { ...only, isNew: false };
    const question = "Say by which key Berth logs in: --key FILE, such as ~/.ssh/id_ed25519, or --key NAME.";
    throw usage(question, [`Keys of the team: ${names}.`]);
  }
  if (keys.some(({ uuid, name }) => uuid === wanted || name === wanted)) {
    return { ...choose(wanted, keys, { thing: "private key" }), isNew: false };
  }
  const file = resolve(session.system.cwd, wanted);
  const publicKey = await readFile(`${file}.pub`, "utf8").catch(() => "");
  const known = keys.find(({ public_key }) => publicKey !== "" && sameKey(public_key, publicKey));
  if (known !== undefined) return { ...known, isNew: false };
  const private_key = await readFile(file, "utf8").catch((cause: unknown) => {
    const message = `${printable(wanted)} is neither a key of the team (${names}) nor a file that can be read.`;
    throw new Failure(message, { cause });
  });
  const name = basename(file);
  const { uuid } = await client.privateKeys.create.mutate({ name, private_key });
  return { uuid, name, isNew: true };
}

/** Type and key; a comment may follow. */
const sameKey = (one: string, other: string): boolean =>
  one.split(/\s+/, 2).join(" ") === other.trim().split(/\s+/, 2).join(" ");
