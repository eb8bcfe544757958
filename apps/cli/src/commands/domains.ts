import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { EXIT, usage } from "../failure.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { type OwnedUrl, placeOf, type UrlOwner, urlOwner } from "../url-owner.ts";
import { urlRemedy } from "../url-remedy.ts";

const NAME = ["[app]", "an application or service, by name or uuid; default: the application of this folder"] as const;
const URLS = [
  "<urls...>",
  "the application or service, unless it is this folder's application; then URLs such as https://shop.example, of a compose file's containers as web=https://shop.example:3000, where 3000 is the port that the container listens on",
] as const;

export function define(command: Command, bind: Bind): void {
  command
    .command("list", { isDefault: true })
    .description("List the URLs of an application or service.")
    .argument(...NAME)
    .action(bind(list));
  changing(command, bind, "add", {
    description: "Give an application or service further URLs.",
    change: ({ urls, opened }, named) => {
      const added = named.filter((one) => !urls.some((other) => isSame(one, other)));
      for (const one of named) requireSamePort(one, urls, opened);
      return [...urls, ...added];
    },
  });
  changing(command, bind, "set", {
    description: "Replace the URLs of an application, or of the named containers of a compose file.",
    change: ({ urls }, named) => {
      const containers = new Set(named.map(({ container }) => container));
      return [...urls.filter(({ container }) => !containers.has(container)), ...named.filter(({ url }) => url !== "")];
    },
  });
  changing(command, bind, "remove", {
    description: "Take URLs from an application or service.",
    change: ({ urls, opened }, named) => {
      const unknown = named.filter((one) => !urls.some((other) => isSame(one, other)));
      if (unknown.length > 0) {
        const known =
          urls.length === 0 ? "It has none." : `It has ${urls.map((one) => shownAs(one, opened)).join(", ")}.`;
        throw usage(`It does not have the URL ${unknown.map(written).join(", ")}. ${known}`);
      }
      return urls.filter((one) => !named.some((other) => isSame(other, one)));
    },
  });
}

interface Change {
  readonly description: string;
  /** @throws Failure where the change is not possible */
  readonly change: (owner: UrlOwner, named: readonly OwnedUrl[]) => readonly OwnedUrl[];
}

function changing(command: Command, bind: Bind, verb: string, { description, change }: Change): void {
  command
    .command(verb)
    .description(description)
    .usage("[options] [name] <urls...>")
    .argument(...URLS)
    .option("--app <name>", "the application or service")
    .option("--force", "take URLs over from other resources of the team")
    .action(
      bind(async (session: Session, words: readonly string[], options: { app?: string; force?: boolean }) => {
        const { output } = session;
        const { wanted, texts } = readWords(words, options.app);
        const api = await session.connect();
        const owner = await urlOwner(api, session, wanted);
        const named = texts.map((text) => readUrl(text, owner));
        const leftOut = await owner.save(change(owner, named), { force_domain_override: options.force === true });
        const after = await urlOwner(api, session, wanted);
        output.show(after.urls, () => {
          show(output, after);
          if (after.urls.length > 0) output.line("What runs answers at these within seconds, without a deployment.");
        });
        if (leftOut !== undefined) output.warn(printable(leftOut));
        return leftOut === undefined ? EXIT.ok : EXIT.failed;
      }),
    );
}

async function list(session: Session, wanted: string | undefined): Promise<void> {
  const { output } = session;
  const owner = await urlOwner(await session.connect(), session, wanted);
  output.show(owner.urls, () => show(output, owner));
}

function show(output: Output, { name, urls, opened, hasContainers }: UrlOwner): void {
  if (urls.length === 0) {
    output.line(`${printable(name)} has no URL. ${urlRemedy(name, hasContainers)}`);
    return;
  }
  const openedOf = (one: OwnedUrl) => printable(openedUrl(one, opened));
  if (!hasContainers) {
    for (const one of urls) output.line(openedOf(one));
    return;
  }
  output.table(
    ["CONTAINER", "URL", "PORT"],
    urls.map((one) => [cell(one.container), openedOf(one), cell(URL.parse(one.url)?.port)]),
  );
}

/** As a browser opens it: a port is the proxy's. */
const openedUrl = ({ url }: OwnedUrl, opened: readonly string[]): string =>
  opened.find((one) => placeOf(one) === placeOf(url)) ?? url;

/** A URL of a container has the container's port, as it is written to set or remove it. */
const shownAs = (one: OwnedUrl, opened: readonly string[]): string =>
  one.container === undefined ? printable(openedUrl(one, opened)) : written(one);

/** A name has neither a scheme nor an equals sign; where nothing follows it, it is meant as a URL. */
function readWords(words: readonly string[], app: string | undefined) {
  const [first = "", ...rest] = words;
  const isNamed = app === undefined && rest.length > 0 && !/:\/\/|=/.test(first);
  return isNamed ? { wanted: first, texts: rest } : { wanted: app, texts: words };
}

function readUrl(text: string, { name, hasContainers }: UrlOwner): OwnedUrl {
  const [, container, url = text] = /^([^=/:]+)=(.*)$/.exec(text) ?? [];
  if (hasContainers && container === undefined) {
    throw usage(
      `${printable(name)} has containers. Say which one ${printable(text)} belongs to: web=${printable(text)}`,
    );
  }
  if (!hasContainers && container !== undefined) {
    throw usage(`${printable(name)} has no containers of a compose file. Write: ${printable(url)}`);
  }
  return { container, url };
}

/** A URL with another port is another one for the proxy, but not for `isSame`. @throws Failure */
function requireSamePort(one: OwnedUrl, urls: readonly OwnedUrl[], opened: readonly string[]): void {
  const port = URL.parse(one.url)?.port;
  // As it is shown, with the port of the proxy.
  if (!port || opened.some((url) => URL.parse(url)?.href === URL.parse(one.url)?.href)) return;
  const current = urls.find((other) => isSame(one, other));
  if (current === undefined || URL.parse(current.url)?.port === port) return;
  throw usage(`It has this URL already, as ${written(current)}.`, [
    `To change the port: berth domains set, with all its URLs, such as ${written(one)}`,
  ]);
}

const isSame = (one: OwnedUrl, other: OwnedUrl): boolean =>
  one.container === other.container && placeOf(one.url) === placeOf(other.url);

const written = ({ container, url }: OwnedUrl): string =>
  printable(container === undefined ? url : `${container}=${url}`);
