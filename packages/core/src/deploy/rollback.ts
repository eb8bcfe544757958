import { z } from "zod";
import type { KeptBuild } from "../ports/rollback.ts";
import { timestamp } from "../timestamp.ts";

/** The build to roll back to. */
export const ApplicationRollback = z.strictObject({
  commit: z
    .string()
    .trim()
    .max(128, "At most 128 characters.")
    .regex(/^[a-zA-Z0-9][\w.\-/]*$/, "Not a commit. Use a `tag` of the application's rollback images.")
    .describe("The `tag` or the `deployment_uuid` of one of the application's rollback images."),
});
export type ApplicationRollback = z.infer<typeof ApplicationRollback>;

export const RollbackImage = z
  .object({
    tag: z
      .string()
      .nullable()
      .describe("Identifies it for a rollback: its commit, or its deployment if it has no commit."),
    created_at: z.string().nullable(),
    is_current: z.boolean().describe("It is running now."),
    deployment_uuid: z.string().describe("The deployment that built it."),
    commit_message: z.string().nullable(),
    image: z
      .string()
      .nullable()
      .describe("Its image: by digest if a registry has it, else its name on the server. Null for several images."),
  })
  .meta({ id: "RollbackImage", description: "An image that an application can be rolled back to without a build." });
export type RollbackImage = z.infer<typeof RollbackImage>;

export const RollbackImages = z
  .object({
    current: z.string().nullable().describe("Tag of the running image."),
    images: z.array(RollbackImage).describe("The running one first, then the newest."),
  })
  .meta({ id: "RollbackImages", description: "The images of an application that are kept on its server." });
export type RollbackImages = z.infer<typeof RollbackImages>;

export function rollbackImagesView(builds: readonly KeptBuild[]): RollbackImages {
  const images = builds.map((build) => ({
    tag: buildTag(build),
    created_at: timestamp(build.created_at),
    is_current: build.is_current,
    deployment_uuid: build.built_by,
    commit_message: build.commit_message,
    image: build.artifact.type === "image" ? (build.artifact.digest ?? build.artifact.image) : null,
  }));
  return { current: images.find(({ is_current }) => is_current)?.tag ?? null, images };
}

/** The newest build with this commit, or the one of this deployment. */
export function findBuild(builds: readonly KeptBuild[], text: string): KeptBuild | undefined {
  return builds.find(({ built_by }) => built_by === text) ?? builds.find((build) => buildTag(build) === text);
}

/** Builds from an image or a stored Dockerfile have no commit, so they are named by their deployment. */
export const buildTag = ({ commit, built_by }: Pick<KeptBuild, "commit" | "built_by">): string =>
  commit === "HEAD" ? built_by : commit;
