import { z } from "zod";
import { repositoryKey } from "./intent.ts";

/**
 * Schemas that the payloads of all hosts share. Values that are used in queries or answers must be short and
 * printable.
 */
export const Text = z.string();
export const Name = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u);
export const Commit = z.string().regex(/^[0-9a-f]{7,64}$/i);
export const PullRequestNumber = z.int().min(1);
/** Only shown, so an invalid URL is treated as missing. */
export const Url = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s\p{C}]+$/u)
  .nullish()
  .catch(null);

/** `undefined` for tags and other refs. */
export const branchOf = (ref: string): string | undefined => /^refs\/heads\/(.+)$/s.exec(ref)?.[1];

/** All zeros: the branch was deleted. */
export const isGone = (commit: string): boolean => /^0+$/.test(commit);

/** If a host's site has a path, the addresses of its repositories begin with it, but their names do not. */
export const keysOf = (name: string, url: string | null | undefined): readonly string[] => [
  ...new Set([repositoryKey(name), ...(url ? [repositoryKey(url)] : [])]),
];
