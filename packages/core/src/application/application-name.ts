import { slug } from "../slug.ts";
import type { ApplicationSource } from "./application.ts";

/** Length of the uuid's part that distinguishes resources with the same generated name. */
const SUFFIX_LENGTH = 8;

/** The name of an application that was created without one. */
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
