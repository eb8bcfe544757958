/**
 * Leaves files out of a tar archive while it is streamed. After the first entry that is neither a plain file nor a
 * folder everything is passed on: the filter only saves time, so it need not be complete.
 */
export async function* withoutFiles(
  content: AsyncIterable<Uint8Array>,
  isLeftOut: (path: string) => boolean,
): AsyncGenerator<Uint8Array> {
  let header = Buffer.alloc(0);
  let bytesOfEntry = 0;
  let isDropped = false;
  let isPlain = false;
  for await (const chunk of content) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length > 0) {
      if (isPlain || bytesOfEntry > 0) {
        const part = isPlain ? rest : rest.subarray(0, bytesOfEntry);
        rest = rest.subarray(part.length);
        bytesOfEntry = Math.max(bytesOfEntry - part.length, 0);
        if (!isDropped) yield part;
        continue;
      }
      const missing = BLOCK_BYTES - header.length;
      header = Buffer.concat([header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (header.length < BLOCK_BYTES) continue;
      const entry = readHeader(header);
      isPlain = entry === undefined;
      isDropped = entry !== undefined && isLeftOut(entry.path);
      bytesOfEntry = Math.ceil((entry?.sizeBytes ?? 0) / BLOCK_BYTES) * BLOCK_BYTES;
      if (!isDropped) yield header;
      header = Buffer.alloc(0);
    }
  }
  if (header.length > 0) yield header;
}

/** `undefined` at the archive's end, and for entries of other types. */
function readHeader(header: Buffer): { readonly path: string; readonly sizeBytes: number } | undefined {
  const text = (from: number, to: number) => header.toString("latin1", from, to).replace(/\0.*$/s, "");
  const size = text(124, 136).trim();
  // Sizes too large for octal digits are stored as binary numbers.
  if (!/^[0-7]{1,12}$/.test(size) || !PLAIN_TYPES.has(header[156] ?? -1)) return undefined;
  const prefix = text(257, 262) === "ustar" ? text(345, 500) : "";
  return { path: prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`, sizeBytes: Number.parseInt(size, 8) };
}

const BLOCK_BYTES = 512;
/** Type flags: a file in its two spellings, and a folder. */
const PLAIN_TYPES: ReadonlySet<number> = new Set([0, "0".charCodeAt(0), "5".charCodeAt(0)]);
