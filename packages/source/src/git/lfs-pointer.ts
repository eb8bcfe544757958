/** A text file that refers to a larger file in Git LFS. */
export interface LfsPointer {
  /** SHA-256 of the content, hexadecimal. */
  readonly oid: string;
  readonly sizeBytes: number;
}

/** Largest size of a pointer in the specification. */
export const POINTER_BYTES_MAX = 1024;

const VERSION = "version https://git-lfs.github.com/spec/v1\n";

/** @returns `undefined` for texts that are not a pointer. */
export function parseLfsPointer(text: string): LfsPointer | undefined {
  if (!text.startsWith(VERSION)) return undefined;
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  return oid === undefined || size === undefined ? undefined : { oid, sizeBytes: Number(size) };
}

/** Whether a .gitattributes file uses Git LFS. */
export const namesLfs = (attributes: string): boolean => /^[^#\n]*\sfilter=lfs(\s|$)/m.test(attributes);
