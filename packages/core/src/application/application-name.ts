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

/** An application with the place where its name counts. */
export interface PlacedName {
  readonly name: string;
  readonly project_uuid: string;
  readonly environment_name: string;
}

/**
 * The application that already has this name in the environment. The API accepts several with one name, but people
 * rarely intend it, so the command line and the dashboard offer to deploy to this one.
 */
export const namesake = <T extends PlacedName>(applications: readonly T[], wanted: PlacedName): T | undefined =>
  applications.find(
    ({ name, project_uuid, environment_name }) =>
      name === wanted.name.trim() &&
      project_uuid === wanted.project_uuid &&
      environment_name === wanted.environment_name,
  );
