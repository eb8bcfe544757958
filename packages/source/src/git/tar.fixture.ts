import { gzipSync } from "node:zlib";

/** An entry as an attacker may write it, without any checks. */
export interface RawEntry {
  readonly path: string;
  /** A name in the table below, or the type letter of the header. */
  readonly type?: string;
  readonly content?: string;
  readonly linkpath?: string;
  readonly mode?: number;
  /** Fields of an extended header, which may contain values that a plain one cannot. */
  readonly pax?: Readonly<Record<string, string>>;
}

/** A tar of exactly these entries, in this order. */
export function rawTar(entries: readonly RawEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => [...paxBlocks(entry), ...entryBlocks(entry)]);
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export const rawTarGz = (entries: readonly RawEntry[]): Buffer => gzipSync(rawTar(entries));

export const streamOf = async function* (bytes: Uint8Array, chunkBytes = 65_536): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
};

function entryBlocks({ path, type = "File", content = "", linkpath, mode = 0o644 }: RawEntry): Buffer[] {
  const body = Buffer.from(content);
  const head = Buffer.alloc(512);
  head.write(path, 0, 100, "utf8");
  head.write(mode.toString(8).padStart(7, "0"), 100);
  head.write("0000000\0", 108);
  head.write("0000000\0", 116);
  head.write(body.length.toString(8).padStart(11, "0"), 124);
  head.write("00000000000\0", 136);
  head.write("        ", 148);
  head.write(TYPE_FLAGS[type] ?? type, 156);
  if (linkpath !== undefined) head.write(linkpath, 157, 100, "utf8");
  head.write("ustar\x0000", 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return [head, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
}

function paxBlocks({ pax }: RawEntry): Buffer[] {
  if (pax === undefined) return [];
  const records = Object.entries(pax).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (String(length).length + Buffer.byteLength(rest) !== length) length++;
    return `${length}${rest}`;
  });
  return entryBlocks({ path: "PaxHeader/x", type: "x", content: records.join("") });
}

const TYPE_FLAGS: Readonly<Record<string, string>> = {
  File: "0",
  Link: "1",
  SymbolicLink: "2",
  CharacterDevice: "3",
  BlockDevice: "4",
  Directory: "5",
  FIFO: "6",
};
