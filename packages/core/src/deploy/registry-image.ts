import type { ApplicationSettings } from "../application/application.ts";
import type { RegistryImage } from "../ports/engine-images.ts";
import { DEFAULT_IMAGE_TAG, readDockerImage } from "../server/docker-image.ts";

/**
 * Under which names what was built goes into the registry that the application is set to: its commit, by which it can
 * be found again, and the tag that it is set to. What a pull request builds never takes a name of the application's own.
 *
 * @returns None where the application names no registry's image, or what it names is what it runs.
 */
export function registryImages(
  { build_pack, docker_registry_image_name: text, docker_registry_image_tag: tag }: ApplicationSettings,
  { commit, pull_request_id }: { readonly commit: string; readonly pull_request_id: number },
): readonly RegistryImage[] {
  if (text === null || build_pack === "dockerimage" || build_pack === "dockercompose") return [];
  const read = readDockerImage(text.replace(/@sha256$/, ""));
  if ("problems" in read) return [];
  const name = read.image.name.replace(/@sha256$/, "");
  if (pull_request_id !== 0) return [{ name, tag: `pr-${pull_request_id}` }];
  const isCommit = commit !== "HEAD" && COMMIT.test(commit);
  const own = tag ?? read.image.tag;
  const tags = [isCommit ? commit : null, own !== null && isTag(own) ? own : null].filter((each) => each !== null);
  return [...new Set(tags.length === 0 ? [DEFAULT_IMAGE_TAG] : tags)].map((each) => ({ name, tag: each }));
}

const COMMIT = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
/** A digest names what is in a registry already. */
const isTag = (text: string): boolean => COMMIT.test(text) && !/^[a-f0-9]{64}$/.test(text);
