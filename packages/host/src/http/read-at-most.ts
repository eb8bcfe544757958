/** Reads a stream to its end. @returns `undefined` if it is longer; the rest is not read then. */
export async function readAtMost(stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
