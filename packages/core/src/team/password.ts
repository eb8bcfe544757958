import { z } from "zod";

/** Long enough against guessing, short enough that hashing stays cheap. */
export const NewPassword = z
  .string()
  .min(12, "At least 12 characters.")
  .max(256, "At most 256 characters.")
  .refine((text) => new Set(text).size >= 5, "Use at least 5 different characters.")
  .describe("At least 12 characters, 5 of them different.");

/** A password to verify; its rules were checked when it was chosen. */
export const Password = z.string().min(1, "Enter the password.").max(256, "At most 256 characters.");
