import type { ProgramRequest } from "../program.ts";

/** What the launcher is asked: to start a program, or only to answer. */
export type Question = StartMessage | { readonly type: "ping" };

/** Asks the launcher to start a program. */
export interface StartMessage {
  readonly type: "start";
  readonly id: number;
  readonly request: ProgramRequest;
  /** One for each pipe of the request: the launcher connects to us, sends it, and gives the connection to the program. */
  readonly tokens: readonly string[];
}

/** What the launcher reports: once that it is ready, its answers, and of each program what has happened to it. */
export type Report =
  | { readonly type: "ready" }
  | { readonly type: "pong" }
  | { readonly type: "started"; readonly id: number; readonly pid: number }
  | { readonly type: "failed"; readonly id: number; readonly fault: Fault }
  /** Its pipes cannot be connected, so it was not started. */
  | { readonly type: "unconnected"; readonly id: number; readonly fault: Fault }
  | { readonly type: "joined"; readonly id: number }
  | { readonly type: "outside"; readonly id: number; readonly fault: Fault }
  | { readonly type: "exited"; readonly id: number; readonly exitCode: number };

/** An error of Node as JSON. */
interface Fault {
  readonly message: string;
  readonly code?: unknown;
  readonly syscall?: unknown;
}

export function faultOf(cause: unknown): Fault {
  if (!(cause instanceof Error)) return { message: String(cause) };
  const { message, code, syscall }: Error & { readonly code?: unknown; readonly syscall?: unknown } = cause;
  return { message, code, syscall };
}

export const errorOf = ({ message, ...rest }: Fault): Error => Object.assign(new Error(message), rest);

/** Length of a token, which is a random UUID, on the connection of a pipe. */
export const TOKEN_BYTES = 36;

/** Name of the socket in the launcher's folder. */
export const PIPES = "pipes";

/** File descriptor of the launcher's channel to us. */
export const CHANNEL = 3;

const LENGTH_BYTES = 4;

/** A message as it is sent over the channel: JSON after its length. */
export function frameOf(message: Question | Report): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
}

/** Reads the chunks of a channel. Both ends are of the same build, so what arrives is what `frameOf` was given. */
export function frameReader<Message extends Question | Report>(
  onMessage: (message: Message) => void,
): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let size = 0;
  /** Bytes that are needed to read on. Before, chunks are not joined, which would copy a long message for each of them. */
  let needed = LENGTH_BYTES;
  return (chunk) => {
    chunks.push(chunk);
    size += chunk.length;
    while (size >= needed) {
      const all = chunks.length === 1 ? (chunks[0] ?? chunk) : Buffer.concat(chunks);
      const end = LENGTH_BYTES + all.readUInt32BE();
      chunks = [all];
      needed = end;
      if (size < end) return;
      chunks = [all.subarray(end)];
      size -= end;
      needed = LENGTH_BYTES;
      onMessage(JSON.parse(all.toString("utf8", LENGTH_BYTES, end)) as Message);
    }
  };
}
