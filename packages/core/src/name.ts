import { z } from "zod";

const NAME = /^[\p{L}\p{M}\p{N}\s\-_.@/&()#,:+]+$/u;
const DESCRIPTION = /^[\p{L}\p{M}\p{N}\s\-_.,!?()'"+=*@/&#:%[\]~^]+$/u;

/** Removes tags but keeps the text between them. */
export const stripTags = (text: string): string => text.replace(/<[^>]*>/g, "");

const clean = (value: unknown): unknown => (typeof value === "string" ? stripTags(value).trim() : value);
const cleanOrNull = (value: unknown): unknown => (clean(value) === "" ? null : clean(value));

// Both have the type of the inner schema; the text is cleaned first.
const tidied = <S extends z.ZodType>(schema: S): S => z.preprocess(clean, schema) as unknown as S;
const tidiedOrNull = <S extends z.ZodType>(schema: S): S => z.preprocess(cleanOrNull, schema) as unknown as S;

/** Name of a project or an environment. */
export const ProjectName = tidied(
  z
    .string()
    .min(3, "At least 3 characters.")
    .max(255, "At most 255 characters.")
    .regex(NAME, "Only letters, digits, spaces and - _ . @ / & ( ) # , : + are allowed."),
);

/** Name of a resource, a server, a token. */
export const ResourceName = tidied(z.string().min(1, "This field is required.").max(255, "At most 255 characters."));

export const ProjectDescription = tidiedOrNull(
  z
    .string()
    .max(255, "At most 255 characters.")
    .regex(DESCRIPTION, "Only letters, digits, spaces and common punctuation are allowed.")
    .nullable(),
);

/** Description of a resource or a server. */
export const ResourceDescription = tidiedOrNull(z.string().max(10_000, "At most 10000 characters.").nullable());

/** Description of a key or a token, in one line. */
export const ShortDescription = tidiedOrNull(z.string().max(255, "At most 255 characters.").nullable());
