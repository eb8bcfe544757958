import { basename, dirname, isAbsolute } from "node:path";
import { DomainError } from "@berth/core";
import { memoryBytes } from "@berth/core/deploy";
import type { SharedFolder } from "../buildkit/file-sync.ts";

/** An image that is to be made from a Dockerfile. Paths are absolute and on Berth's own machine. */
export interface BuildTarget {
  /** The folder that `COPY` and `ADD` take from, whose `.dockerignore` is applied; or the address of one elsewhere. */
  readonly context: string;
  /** Within a context elsewhere, its path there. */
  readonly dockerfile: string;
  /** A stage of the Dockerfile; `null` for the last one. */
  readonly target: string | null;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Values are secrets. */
  readonly args: Readonly<Record<string, string>>;
  /** Build secrets by their id. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Build secrets whose value is a file's content, by their id. */
  readonly secretFiles: Readonly<Record<string, string>>;
  readonly isForced: boolean;
  /** Base images are looked for anew. */
  readonly isPulled?: boolean | undefined;
  readonly more?: MoreOfBuild | undefined;
  /** The engine's own frontend makes the plan, whatever the Dockerfile says. */
  readonly usesOwnFrontend?: boolean | undefined;
}

/** Further build options of a compose file, named as in the compose specification. */
export interface MoreOfBuild {
  /** Folders, or addresses of what lies elsewhere, by their name. */
  readonly contexts?: Readonly<Record<string, string>> | undefined;
  readonly cache_from?: unknown;
  readonly cache_to?: unknown;
  readonly extra_hosts?: unknown;
  readonly network?: unknown;
  readonly shm_size?: unknown;
  readonly ulimits?: unknown;
}

/** How BuildKit's Dockerfile frontend is asked for it, and what it may read of this machine. */
export interface BuildDemand {
  readonly frontend: "dockerfile.v0" | "gateway.v0";
  readonly attributes: Readonly<Record<string, string>>;
  readonly folders: Readonly<Record<string, SharedFolder>>;
  /** Powers that the build is given. */
  readonly entitlements: readonly string[];
  /** Whether the image itself tells later builds what it was made of. */
  readonly isCacheInlined: boolean;
}

/** @param hostGateway What `host-gateway` stands for. @throws DomainError `deploy.build_failed` */
export function buildDemand(target: BuildTarget, hostGateway: string | undefined): BuildDemand {
  const { syntax, attributes } = frontendOf(target.args);
  const contexts = Object.entries(target.more?.contexts ?? {}).map(([name, place]) => contextOf(name, place));
  return {
    frontend: syntax === undefined ? "dockerfile.v0" : "gateway.v0",
    attributes: {
      ...attributes,
      // Its presence alone keeps the frontend from looking for another one.
      ...(target.usesOwnFrontend === true ? { cmdline: "-" } : {}),
      filename: basename(target.dockerfile),
      // Images that only the server itself has are taken too.
      "image-resolve-mode": target.isPulled === true ? "pull" : "local",
      ...(target.target === null ? {} : { target: target.target }),
      ...(target.isForced ? { "no-cache": "" } : {}),
      ...prefixed("label", target.labels),
      ...prefixed("build-arg", target.args),
      ...placeAttributes(target),
      ...Object.fromEntries(contexts.map(({ attribute }) => attribute)),
      ...(contexts.length === 0 ? {} : { "frontend.caps": "moby.buildkit.frontend.contexts+forward" }),
      ...limits(target.more ?? {}, hostGateway),
      ...networkOf(target.more?.network),
      ...cacheImports(target.more?.cache_from),
    },
    folders: {
      ...Object.fromEntries(contexts.flatMap(({ folder }) => (folder === undefined ? [] : [folder]))),
      ...(isElsewhere(target.context) ? {} : { context: { path: target.context } }),
      ...(isAbsolute(target.dockerfile) ? { dockerfile: dockerfileFolder(target.dockerfile) } : {}),
    },
    entitlements: target.more?.network === "host" ? ["network.host"] : [],
    // The engine writes no other cache.
    isCacheInlined: textsOf(target.more?.cache_to).some((entry) => /^(type=)?inline$/.test(entry)),
  };
}

/** Whether the engine itself would fetch the context. */
export const isElsewhere = (context: string): boolean => /^((https?|git|ssh|docker-image):\/\/|git@)/.test(context);

export const isImageContext = (context: string): boolean => context.startsWith("docker-image://");

/** Whether a build asks for the address that containers reach their engine by. */
export const needsHostGateway = ({ more }: BuildTarget): boolean =>
  hostsOf(more?.extra_hosts).some(({ address }) => address === HOST_GATEWAY);

const HOST_GATEWAY = "host-gateway";

/** An own frontend instead of the engine's, as docker's clients take it from this argument. */
function frontendOf(args: BuildTarget["args"]) {
  const syntax = args.BUILDKIT_SYNTAX?.trim();
  if (syntax === undefined || syntax === "") return { syntax: undefined, attributes: {} };
  return { syntax, attributes: { source: syntax.split(" ")[0] ?? "", cmdline: syntax } };
}

const prefixed = (prefix: string, record: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [`${prefix}:${name}`, value]));

function placeAttributes({ context, dockerfile }: BuildTarget): Record<string, string> {
  if (!isElsewhere(context)) return {};
  return isAbsolute(dockerfile) ? { context, dockerfilekey: "dockerfile" } : { context, filename: dockerfile };
}

/** Nothing else that lies beside it, e.g. the values of secrets. */
const dockerfileFolder = (file: string): SharedFolder => ({
  path: dirname(file),
  only: [basename(file), `${basename(file)}.dockerignore`].map(literalPattern),
});

const literalPattern = (name: string): string => name.replace(/[\\*?[!]/g, "\\$&");

function contextOf(name: string, place: string) {
  if (isElsewhere(place)) return { attribute: [`context:${name}`, place] as const, folder: undefined };
  const local = name === "context" || name === "dockerfile" ? `_${name}` : name;
  return { attribute: [`context:${name}`, `local:${local}`] as const, folder: [local, { path: place }] as const };
}

function limits(more: MoreOfBuild, hostGateway: string | undefined): Record<string, string> {
  const hosts = hostsOf(more.extra_hosts).map(({ name, address }) => {
    if (address !== HOST_GATEWAY) return `${name}=${address}`;
    if (hostGateway !== undefined) return `${name}=${hostGateway}`;
    throw refused("extra_hosts", "the engine does not say what host-gateway stands for: name an address, or update it");
  });
  const ulimits = ulimitsOf(more.ulimits);
  return {
    ...(hosts.length === 0 ? {} : { "add-hosts": hosts.join(",") }),
    ...(more.shm_size == null ? {} : { "shm-size": String(sizeOf(more.shm_size)) }),
    ...(ulimits.length === 0 ? {} : { ulimit: ulimits.join(",") }),
  };
}

function networkOf(network: unknown): Record<string, string> {
  if (network == null || network === "" || network === "default") return {};
  if (network === "host" || network === "none") return { "force-network-mode": network };
  throw refused("network", "BuildKit knows host, none and default");
}

/** An image by its name, or `type=...,ref=...`. */
function cacheImports(said: unknown): Record<string, string> {
  const entries = textsOf(said).map((text) => {
    const { type: Type = "registry", ...Attrs } = text.includes("=")
      ? Object.fromEntries(text.split(",").map((part) => [part.split("=")[0], part.split("=").slice(1).join("=")]))
      : { ref: text };
    return { Type, Attrs };
  });
  return entries.length === 0 ? {} : { "cache-imports": JSON.stringify(entries) };
}

const textsOf = (said: unknown): readonly string[] => [said ?? []].flat().map(String);

/** `name=address` or `name:address` in a list, or a map whose values are an address or several. */
function hostsOf(value: unknown): readonly { readonly name: string; readonly address: string }[] {
  if (Array.isArray(value)) {
    return value.map((item: unknown) => {
      const [, name = "", address = ""] = /^([^=:]*)[=:](.*)$/s.exec(String(item)) ?? [];
      return { name, address: bare(address) };
    });
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, addresses]: [string, unknown]) =>
    [addresses].flat().map((address) => ({ name, address: bare(String(address)) })),
  );
}

const bare = (address: string): string => address.replace(/^\[(.*)\]$/, "$1");

function sizeOf(value: unknown): number {
  const bytes = typeof value === "number" ? value : memoryBytes(String(value));
  if (bytes === null) throw refused("shm_size", `${String(value)} is no size`);
  return bytes;
}

function ulimitsOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).map(([name, limit]: [string, unknown]) => {
    const { soft = limit, hard = soft }: { soft?: unknown; hard?: unknown } =
      typeof limit === "object" && limit !== null ? limit : {};
    return `${name}=${String(soft)}:${String(hard)}`;
  });
}

const refused = (key: string, problem: string): DomainError =>
  new DomainError("deploy.build_failed", `The build's ${key} cannot be used: ${problem}.`);
