import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { openApi } from "../connection/api.ts";
import { type Context, configPath, readConfig, writeConfig } from "../connection/config-file.ts";
import { type Connection, serverUrl } from "../connection/resolve.ts";
import { restText } from "../connection/rest.ts";
import { usage } from "../failure.ts";
import { printable } from "../printable.ts";
import { ask, readInput } from "../prompt.ts";
import type { Session } from "../session.ts";
import { showLink } from "../sign-in-link.ts";

interface LoginOptions {
  readonly web?: boolean;
  readonly print?: boolean;
  readonly tokenStdin?: boolean;
  readonly name?: string;
}

export function define(command: Command, bind: Bind): void {
  command
    .argument("[url]", "address of the server, e.g. https://berth.example.com")
    .option("--web", "open the dashboard, signed in as the user of the token that commands here use")
    .option("--print", "with --web: print the link, open nothing")
    .option("--token-stdin", "read the token from standard input")
    .option("--name <context>", "name of the connection; default: the server's host")
    .action(bind(login));
}

async function login(session: Session, address: string | undefined, options: LoginOptions): Promise<void> {
  if (options.web) return await signInOnTheWeb(session, address, options.print ?? false);
  if (address === undefined) throw usage("Say which server: berth login URL, or berth login --web for the dashboard.");
  await connectTo(session, address, options);
}

async function signInOnTheWeb(session: Session, address: string | undefined, isPrinted: boolean): Promise<void> {
  if (address !== undefined) throw usage("--web signs in at the server that commands talk to: leave the address out.");
  const { client } = await session.connect();
  const link = await client.auth.createLink.mutate({});
  await showLink(session, link, { isOpened: !isPrinted && session.system.stdin.isTTY === true });
}

async function connectTo(session: Session, address: string, { tokenStdin, name }: LoginOptions): Promise<void> {
  const { output, system } = session;
  const url = serverUrl(address);
  warnOfPlainHttp(url, session);
  const token = await readToken(session, tokenStdin ?? false);
  const connection: Connection = { url, token, origin: "this login" };
  session.use(connection);
  const version = await restText(connection, { method: "GET", path: "/version" });
  const { client } = await openApi(connection);
  const team = await client.teams.current.query();

  const path = configPath(system);
  const config = await readConfig(path);
  const contextName = name ?? contextNameFor(url, config.contexts);
  const contexts = { ...config.contexts, [contextName]: { url, token } };
  await writeConfig(path, { current: contextName, contexts });
  output.show(team, () => {
    output.line(`Logged in to ${url} (version ${printable(version)}) as team ${printable(team.name)}.`);
    output.line(`The connection is called ${contextName} and stored in ${path}.`);
  });
  const overriding = ["BERTH_URL", "BERTH_TOKEN"].filter((variable) => system.env[variable]);
  if (overriding.length > 0) output.warn(`${overriding.join(" and ")} is set and comes before the connection.`);
}

async function readToken({ system }: Session, isFromInput: boolean): Promise<string> {
  if (!isFromInput && !system.stdin.isTTY) {
    throw usage("The token cannot be prompted for: standard input is not a terminal. Send it with --token-stdin.");
  }
  const text = isFromInput ? await readInput(system) : await ask(system, "Token: ", { isSecret: true });
  const token = text.trim();
  if (token === "") throw usage("The token is empty.");
  if (/\s/.test(token)) throw usage("A token has no white space in it.");
  return token;
}

function warnOfPlainHttp(url: string, { output }: Session): void {
  const { protocol, hostname } = new URL(url);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost") || /^(127\.|\[::1\])/.test(hostname);
  if (protocol === "http:" && !isLocal) {
    output.warn(`${url} is not encrypted: the token can be read on its way.`);
  }
}

/** The host, with the port if another context has that host. */
function contextNameFor(url: string, contexts: Readonly<Record<string, Context>>): string {
  const { hostname, host } = new URL(url);
  const known = Object.entries(contexts).find(([, context]) => context.url === url)?.[0];
  return known ?? (Object.hasOwn(contexts, hostname) ? host : hostname);
}
