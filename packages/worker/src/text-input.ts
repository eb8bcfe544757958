/** Text for the standard input of a program. */
export async function* textInput(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
