import { basename, dirname, isAbsolute } from "node:path";
import { DomainError } from "@berth/core";
import { memoryBytes } from "@berth/core/deploy";
import type { SharedFolder } from "../buildkit/file-sync.ts";

/** An image to build from a Dockerfile. Paths are absolute and on Berth's own machine. */
export interface BuildTarget {
  /** Folder for `COPY` and `ADD`, to which `.dockerignore` applies; or the URL of a remote context. */
  readonly context: string;
  /** For a remote context, the path inside it. */
  readonly dockerfile: string;
  /** A stage of the Dockerfile; `null` for the last one. */
  readonly target: string | null;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Values are secrets. */
  readonly args: Readonly<Record<string, string>>;
  /** Build secrets by their id. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Build secrets read from files: path by id. */
  readonly secretFiles: Readonly<Record<string, string>>;
  readonly isForced: boolean;
  /** Whether base images are pulled even when they exist locally. */
  readonly isPulled?: boolean | undefined;
  readonly more?: ExtraBuildOptions | undefined;
  /** Uses the engine's own frontend, whatever the Dockerfile's `syntax` line says. */
  readonly usesOwnFrontend?: boolean | undefined;
}

/** Further build options of a compose file, named as in the compose specification. */
export interface ExtraBuildOptions {
  /** Additional contexts by name: folders or URLs. */
  readonly contexts?: Readonly<Record<string, string>> | undefined;
  readonly cache_from?: unknown;
  readonly cache_to?: unknown;
  readonly extra_hosts?: unknown;
  readonly network?: unknown;
  readonly shm_size?: unknown;
  readonly ulimits?: unknown;
}

/** Options for BuildKit's Dockerfile frontend, and the folders that it may read from this machine. */
export interface FrontendOptions {
  readonly frontend: "dockerfile.v0" | "gateway.v0";
  readonly attributes: Readonly<Record<string, string>>;
  readonly folders: Readonly<Record<string, SharedFolder>>;
  /** Privileges that the build requests. */
  readonly entitlements: readonly string[];
  /** Whether the image records cache information for later builds. */
  readonly isCacheInlined: boolean;
}

/** @param hostGateway Address that `host-gateway` stands for. @throws DomainError `deploy.build_failed` */
export function frontendOptions(target: BuildTarget, hostGateway: string | undefined): FrontendOptions {
  const { syntax, attributes } = frontendOf(target.args);
  const contexts = Object.entries(target.more?.contexts ?? {}).map(([name, place]) => contextOf(name, place));
  return {
    frontend: syntax === undefined ? "dockerfile.v0" : "gateway.v0",
    attributes: {
      ...attributes,
      // Its presence alone makes the frontend ignore the Dockerfile's `syntax` line.
      ...(target.usesOwnFrontend === true ? { cmdline: "-" } : {}),
      filename: basename(target.dockerfile),
      // `local` also accepts images that exist only on the server.
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
      ...(isRemoteContext(target.context) ? {} : { context: { path: target.context } }),
      ...(isAbsolute(target.dockerfile) ? { dockerfile: dockerfileFolder(target.dockerfile) } : {}),
    },
    entitlements: target.more?.network === "host" ? ["network.host"] : [],
    // Inline is the only cache export that the engine supports.
    isCacheInlined: textsOf(target.more?.cache_to).some((entry) => /^(type=)?inline$/.test(entry)),
  };
}

/** Whether the context is a URL, which the engine itself would fetch. */
export const isRemoteContext = (context: string): boolean => /^((https?|git|ssh|docker-image):\/\/|git@)/.test(context);

export const isImageContext = (context: string): boolean => context.startsWith("docker-image://");

/** Whether a build uses `host-gateway`, the address at which containers reach their host. */
export const needsHostGateway = ({ more }: BuildTarget): boolean =>
  hostsOf(more?.extra_hosts).some(({ address }) => address === HOST_GATEWAY);

const HOST_GATEWAY = "host-gateway";

/** A build argument may name another frontend, as with Docker's own clients. */
function frontendOf(args: BuildTarget["args"]) {
  const syntax = args.BUILDKIT_SYNTAX?.trim();
  if (syntax === undefined || syntax === "") return { syntax: undefined, attributes: {} };
  return { syntax, attributes: { source: syntax.split(" ")[0] ?? "", cmdline: syntax } };
}

const prefixed = (prefix: string, record: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [`${prefix}:${name}`, value]));

function placeAttributes({ context, dockerfile }: BuildTarget): Record<string, string> {
  if (!isRemoteContext(context)) return {};
  return isAbsolute(dockerfile) ? { context, dockerfilekey: "dockerfile" } : { context, filename: dockerfile };
}

/** Only the Dockerfile and its ignore file: other files beside it may hold secrets. */
const dockerfileFolder = (file: string): SharedFolder => ({
  path: dirname(file),
  only: [basename(file), `${basename(file)}.dockerignore`].map(literalPattern),
});

const literalPattern = (name: string): string => name.replace(/[\\*?[!]/g, "\\$&");

function contextOf(name: string, place: string) {
  if (isRemoteContext(place)) return { attribute: [`context:${name}`, place] as const, folder: undefined };
  const local = name === "context" || name === "dockerfile" ? `_${name}` : name;
  return { attribute: [`context:${name}`, `local:${local}`] as const, folder: [local, { path: place }] as const };
}

function limits(more: ExtraBuildOptions, hostGateway: string | undefined): Record<string, string> {
  const hosts = hostsOf(more.extra_hosts).map(({ name, address }) => {
    if (address !== HOST_GATEWAY) return `${name}=${address}`;
    if (hostGateway !== undefined) return `${name}=${hostGateway}`;
    throw refused(
      "extra_hosts",
      "the engine does not report the address of host-gateway: name an address, or update Docker",
    );
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

/** Cache sources: image names, or `type=...,ref=...`. */
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

/** Extra hosts: a list of `name=address` or `name:address`, or a map of names to addresses. */
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
  if (bytes === null) throw refused("shm_size", `${String(value)} is not a size`);
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
