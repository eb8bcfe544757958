import { z } from "zod";
import { stripTags } from "../name.ts";
import type { TagRecord } from "../ports/tag.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

/** Limit per request. */
const TAGS_MAX = 100;

const clean = (name: unknown): unknown => (typeof name === "string" ? stripTags(name).trim().toLowerCase() : name);

// Has the type of the inner schema; the text is cleaned first.
const TagName = z.preprocess(
  clean,
  z
    .string()
    .min(2, "At least 2 characters.")
    .max(255, "At most 255 characters.")
    .regex(/^[^,]*$/, "Must not contain commas, which separate tags."),
) as unknown as z.ZodString;

export const TagAttach = z
  .strictObject({
    tag_name: TagName.optional().describe("One tag. Stored in lower case."),
    tag_names: z
      .array(TagName)
      .min(1, "At least one tag.")
      .max(TAGS_MAX, `At most ${TAGS_MAX} at once.`)
      .optional()
      .describe("Several tags."),
  })
  .refine(({ tag_name, tag_names }) => (tag_name === undefined) !== (tag_names === undefined), {
    path: ["tag_name"],
    error: "Give either tag_name or tag_names.",
  });
export type TagAttach = z.infer<typeof TagAttach>;

/** The names that were sent, without duplicates. */
export const tagNames = ({ tag_name, tag_names = [] }: TagAttach): readonly string[] => [
  ...new Set(tag_name === undefined ? tag_names : [tag_name]),
];

export const Tag = z
  .object({
    uuid: z.string(),
    name: z.string().describe("Lower case."),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Tag", description: "A word that groups resources, to find and deploy them together." });
export type Tag = z.infer<typeof Tag>;

export const tagView = ({ uuid, name, created_at, updated_at }: TagRecord): Tag => ({
  uuid,
  name,
  created_at: timestamp(created_at),
  updated_at: timestamp(updated_at),
});
