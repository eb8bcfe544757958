export interface SourceFile {
  /** Path in the folder, with slashes. */
  readonly path: string;
  readonly file: Blob;
}

const BLOCK = 512;
const NAME_LENGTH_MAX = 100;

/** A tar archive as a Blob of the files themselves, so that nothing is copied in memory. */
export function tarOf(files: readonly SourceFile[]): Blob {
  const parts = files.flatMap(({ path, file }) => {
    const name = new TextEncoder().encode(path);
    // GNU tar's extension for names longer than the field.
    const long =
      name.length > NAME_LENGTH_MAX
        ? [header("././@LongLink", name.length + 1, "L"), name, padding(name.length, 1)]
        : [];
    return [...long, header(path, file.size, "0"), file, padding(file.size)];
  });
  return new Blob([...parts, new Uint8Array(2 * BLOCK)]);
}

const padding = (size: number, end = 0): Uint8Array<ArrayBuffer> =>
  new Uint8Array(end + ((BLOCK - ((size + end) % BLOCK)) % BLOCK));

function header(path: string, size: number, type: "0" | "L"): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const write = (text: string, at: number, length: number) =>
    block.set(new TextEncoder().encode(text).subarray(0, length), at);
  write(path, 0, NAME_LENGTH_MAX);
  write("0000755\0", 100, 8); // Browsers do not report which files are executable.
  write("0000000\0", 108, 8);
  write("0000000\0", 116, 8);
  write(`${size.toString(8).padStart(11, "0")}\0`, 124, 12);
  write("00000000000\0", 136, 12);
  write(" ".repeat(8), 148, 8);
  write(type, 156, 1);
  write("ustar  \0", 257, 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, 8);
  return block;
}

export const gzipped = (blob: Blob): Promise<Blob> =>
  new Response(blob.stream().pipeThrough(new CompressionStream("gzip"))).blob();
