import { z } from "zod";
import { repositoryKey } from "./intent.ts";

/** Pieces that all hosts' payloads are read with. What ends up in a query or an answer is short and printable. */
export const Text = z.string();
export const Name = z
  .string()
  .min(1)
  .max(2048)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u);
export const Commit = z.string().regex(/^[0-9a-f]{7,64}$/i);
export const PullRequestNumber = z.int().min(1);
/** Only shown, so a strange one is as good as none. */
export const Url = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s\p{C}]+$/u)
  .nullish()
  .catch(null);

/** `undefined` for a tag, or whatever else was pushed. */
export const branchOf = (ref: string): string | undefined => /^refs\/heads\/(.+)$/s.exec(ref)?.[1];

/** All zeros: the branch was removed. */
export const isGone = (commit: string): boolean => /^0+$/.test(commit);

/** A host below a path of its site has that path in its repositories' addresses and not in their names. */
export const keysOf = (name: string, url: string | null | undefined): readonly string[] => [
  ...new Set([repositoryKey(name), ...(url ? [repositoryKey(url)] : [])]),
];
