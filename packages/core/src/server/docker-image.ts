/** An image as stored: `name:tag`, where the name of a digest ends with `@sha256`. */
export interface DockerImage {
  /** Registry and repository, e.g. `nginx`, `ghcr.io/owner/name`, `nginx@sha256`. */
  readonly name: string;
  /** A tag, or the 64 hexadecimal digits of a digest. */
  readonly tag: string;
}

export type DockerImageRead =
  | { readonly image: { readonly name: string; readonly tag: string | null } }
  | { readonly problems: Readonly<Record<string, readonly string[]>> };

/**
 * Parses `name`, `name:tag`, `name@sha256:<digest>`; with tag and digest, the digest counts. A tag of 64 hexadecimal
 * digits is a digest too.
 *
 * @param tag Sent in its own field. A tag in the name must be equal to it.
 * @returns The image, with the tag `null` if there is none; or a sentence for the invalid field.
 */
export function readDockerImage(text: string, tag: string | null = null): DockerImageRead {
  const parts = partsOf(text.trim());
  if (parts === undefined || !isRepository(parts.repository)) return { problems: { [NAME_FIELD]: [NAME_PROBLEM] } };
  const own = parts.digest ?? parts.tag;
  if (own !== undefined && !isTag(own)) return { problems: { [NAME_FIELD]: [NAME_PROBLEM] } };
  if (tag !== null && !isTag(tag)) return { problems: { [TAG_FIELD]: [TAG_PROBLEM] } };
  if (own !== undefined && tag !== null && own !== tag) return { problems: { [TAG_FIELD]: [TWO_TAGS_PROBLEM] } };
  const said = own ?? tag;
  if (parts.isDigestOnly && (said === null || !isDigest(said))) return { problems: { [TAG_FIELD]: [DIGEST_PROBLEM] } };
  const isByDigest = said !== null && isDigest(said);
  return { image: { name: isByDigest ? `${parts.repository}@sha256` : parts.repository, tag: said } };
}

/** The reference that an engine pulls: `name:tag` or `name@sha256:digest`. */
export const imageReference = ({ name, tag }: DockerImage): string => `${name}:${tag}`;

export const DEFAULT_IMAGE_TAG = "latest";

/** The last part of the name, without registry and owner: `postgres` of `ghcr.io/owner/postgres`. */
export const imageBaseName = ({ name }: Pick<DockerImage, "name">): string =>
  name
    .replace(/@sha256$/, "")
    .split("/")
    .at(-1) ?? name;

interface Parts {
  readonly repository: string;
  readonly tag?: string | undefined;
  readonly digest?: string | undefined;
  /** The stored form of a digest: its digits are in `tag`. */
  readonly isDigestOnly: boolean;
}

function partsOf(text: string): Parts | undefined {
  if (text.length > IMAGE_LENGTH_MAX) return undefined;
  const [before = "", after, ...more] = text.split("@");
  if (more.length > 0) return undefined;
  const digest = after === undefined ? undefined : /^sha256(?::([a-f0-9]{64}))?$/.exec(after);
  if (digest === null) return undefined;
  // A colon before the last slash belongs to the registry's port.
  const at = before.lastIndexOf(":");
  const hasTag = at > before.lastIndexOf("/");
  const repository = hasTag ? before.slice(0, at) : before;
  const isDigestOnly = digest !== undefined && digest[1] === undefined;
  if (isDigestOnly && hasTag) return undefined;
  return { repository, digest: digest?.[1], isDigestOnly, ...(hasTag ? { tag: before.slice(at + 1) } : {}) };
}

/** The first part is a registry if it contains a dot or a colon, or is `localhost`. */
function isRepository(text: string): boolean {
  const [first = "", ...rest] = text.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const path = hasRegistry ? rest : [first, ...rest];
  return (!hasRegistry || isRegistry(first)) && path.every((part) => PATH_PART.test(part));
}

function isRegistry(text: string): boolean {
  const { 1: host = "", 2: port } = /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  return isPort && host.split(".").every((label) => /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$/.test(label));
}

const isTag = (text: string): boolean => /^\w[\w.-]{0,127}$/.test(text);
const isDigest = (text: string): boolean => /^[a-f0-9]{64}$/.test(text);

/** One part of a repository's path, by the rules of registries. */
const PATH_PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
/** Limit of a reference with its tag or digest. */
const IMAGE_LENGTH_MAX = 512;

const NAME_FIELD = "docker_registry_image_name";
const TAG_FIELD = "docker_registry_image_tag";
const NAME_PROBLEM =
  "Not a name of an image. Write it like nginx, ghcr.io/owner/name, name:tag or name@sha256:<64 hexadecimal digits>.";
const TAG_PROBLEM = "A tag has at most 128 letters, digits and _ . -, beginning with a letter, a digit or _.";
const TWO_TAGS_PROBLEM = "docker_registry_image_name contains another tag. Send only one of the two.";
const DIGEST_PROBLEM = "A name that ends with @sha256 needs the 64 hexadecimal digits of the digest as its tag.";
