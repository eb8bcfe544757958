import { slug } from "../slug.ts";
import type { ApplicationSource } from "./application.ts";

/** Characters of the uuid that tell two resources with generated names apart. */
const SUFFIX_LENGTH = 8;

/** The name of an application that was given none. */
export function generatedName(
  source: ApplicationSource,
  { uuid, git_repository, git_branch }: { uuid: string; git_repository: string; git_branch: string },
): string {
  const suffix = uuid.slice(0, SUFFIX_LENGTH);
  if (source !== "git") return `${PREFIXES[source]}-${suffix}`;
  const repository = git_repository.replace(/\/+$/, "").split(/[/:]/).pop() ?? "";
  return `${slug(`${repository.replace(/\.git$/, "")}-${git_branch}`, 200) || "application"}-${suffix}`;
}

const PREFIXES = { upload: "upload", dockerfile: "dockerfile", image: "docker-image" } as const satisfies Record<
  Exclude<ApplicationSource, "git">,
  string
>;
