import type { ApplicationSettings } from "../application/application.ts";
import type { RegistryImage } from "../ports/engine-images.ts";
import { DEFAULT_IMAGE_TAG, readDockerImage } from "../server/docker-image.ts";

/**
 * The names under which a build is pushed to the application's registry image: its commit, by which it can be found
 * again, and the configured tag. Builds of pull requests never get the application's own tags.
 *
 * @returns Empty if the application names no registry image, or if it runs that image.
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
/** A digest can only name what is already in a registry. */
const isTag = (text: string): boolean => COMMIT.test(text) && !/^[a-f0-9]{64}$/.test(text);
