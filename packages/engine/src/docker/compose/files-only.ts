/** Removes the folders from a tar archive: unpacking then creates missing ones, and does not change the others. */
export async function* filesOnly(archive: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  /** Extended headers of the next entry. */
  let held: Buffer[] = [];
  let left = 0;
  let goes: "on" | "held" | "nowhere" = "on";
  for await (const chunk of archive) {
    rest = Buffer.concat([rest, Buffer.from(chunk as Uint8Array)]);
    for (;;) {
      if (left > 0) {
        const part = rest.subarray(0, left);
        if (part.length === 0) break;
        rest = rest.subarray(part.length);
        left -= part.length;
        if (goes === "on") yield part;
        if (goes === "held") held.push(part);
        continue;
      }
      if (rest.length < BLOCK_BYTES) break;
      const header = rest.subarray(0, BLOCK_BYTES);
      rest = rest.subarray(BLOCK_BYTES);
      left = paddedSize(header);
      const type = String.fromCharCode(header[TYPE_AT] ?? 0);
      goes = MORE.has(type) ? "held" : type === FOLDER ? "nowhere" : "on";
      if (goes === "held") held.push(header);
      else {
        if (goes === "on") yield* [...held, header];
        held = [];
      }
    }
  }
  if (rest.length > 0) yield rest;
}

function paddedSize(header: Buffer): number {
  const text = header.toString("latin1", 124, 136).replace(/\0.*$/s, "").trim();
  const size = /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : 0;
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}

const BLOCK_BYTES = 512;
const TYPE_AT = 156;
const FOLDER = "5";
/** Extended headers of both kinds, and long names. */
const MORE: ReadonlySet<string> = new Set(["x", "L", "K"]);
