import { text } from "node:stream/consumers";
import type { TerminalPlace } from "@berth/core/resource";
import { type RawData, WebSocket } from "ws";
import { ProblemError, problemError } from "../connection/problem.ts";
import type { Connection } from "../connection/resolve.ts";
import { EXIT, Failure, usage } from "../failure.ts";
import type { Screen, System } from "../system.ts";

export interface AttachOptions {
  /** The connection counts as lost when nothing arrived for this time. The server sends something every 25 seconds. */
  readonly silenceMsMax?: number;
}

/** A message of the server in JSON. */
interface Message {
  readonly error?: { readonly message: string; readonly code: string; readonly status: number };
  readonly opened?: true;
  readonly ended?: true;
  readonly exit_code?: number | null;
}

/** @param instead What to type when input or output is not a terminal. @throws Failure in that case */
export function requireTerminal({ stdin, stdout }: Pick<System, "stdin" | "stdout">, instead: readonly string[]): void {
  if (stdin.isTTY === true && stdin.setRawMode !== undefined && stdout.isTTY === true) return;
  throw usage("This command needs a terminal, but standard input or output is a file or another program.", instead);
}

/**
 * Connects this terminal with a program on the server until the program has ended. Every key goes to the program, also
 * Ctrl-C. The terminal is as before at the end, whatever the reason.
 *
 * @returns The program's exit code, `null` when it is unknown.
 * @throws ProblemError when the server refuses or ends it, Failure when the connection is lost
 */
export async function attach(
  { url, token }: Connection,
  { stdin, stdout }: Pick<System, "stdin" | "stdout">,
  place: TerminalPlace,
  { silenceMsMax = SILENCE_MS_MAX }: AttachOptions = {},
): Promise<number | null> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/terminal`, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  const ended = settleable<number | null>();
  let isOpen = false;

  const silence = setTimeout(() => ended.reject(lost(isOpen)), silenceMsMax);
  const onResize = () => socket.send(JSON.stringify(sizeOf(stdout)));
  const onKeys = (keys: Buffer) => {
    // One piece at a time, so that a program that does not read slows the input.
    stdin.pause();
    socket.send(keys, { binary: true }, () => {
      if (isOpen) stdin.resume();
    });
  };
  const onInputEnd = () => ended.reject(lost(isOpen));
  const open = () => {
    isOpen = true;
    stdin.setRawMode?.(true);
    stdin.on("data", onKeys).once("end", onInputEnd);
    stdout.on("resize", onResize);
    // The size may have changed since it was sent.
    onResize();
  };
  const restore = () => {
    if (!isOpen) return;
    isOpen = false;
    stdout.off("resize", onResize);
    stdin.off("data", onKeys).off("end", onInputEnd).pause();
    stdin.setRawMode?.(false);
  };

  socket.on("open", () => socket.send(JSON.stringify({ ...place, ...sizeOf(stdout) })));
  socket.on("message", (data, isBinary) => {
    silence.refresh();
    if (isBinary) return print(socket, stdout, data);
    const { error, opened, ended: hasEnded, exit_code = null } = JSON.parse(String(data)) as Message;
    if (error !== undefined) ended.reject(new ProblemError(error));
    else if (hasEnded) ended.resolve(exit_code);
    else if (opened) open();
  });
  socket.on("ping", () => silence.refresh());
  socket.on("unexpected-response", (_request, response) => {
    const refused = (body: string) => ended.reject(problemError(response.statusCode ?? 0, body));
    text(response).then(refused, () => refused(""));
  });
  socket.on("error", (cause) => ended.reject(isOpen ? lost(true, cause) : cause));
  socket.on("close", () => ended.reject(lost(isOpen)));

  try {
    return await ended.promise;
  } catch (error) {
    // The program could not undo what it did to the screen.
    if (isOpen) stdout.write(SCREEN_RESET);
    throw error;
  } finally {
    clearTimeout(silence);
    restore();
    socket.terminate();
  }
}

/** As `Promise.withResolvers`, which Node 20 lacks. */
function settleable<T>() {
  let settle: { resolve(value: T): void; reject(error: unknown): void } = { resolve: () => {}, reject: () => {} };
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

/** Prints as fast as the terminal shows it. */
function print(socket: WebSocket, stdout: Screen, data: RawData): void {
  // Pieces of output arrive as one buffer, which is the default of the socket.
  if (stdout.write(data as Buffer)) return;
  socket.pause();
  stdout.once("drain", () => socket.resume());
}

const sizeOf = ({ columns, rows }: Screen) => ({ columns: columns || 80, rows: rows || 24 });

const lost = (wasOpen: boolean, cause?: unknown) =>
  new Failure(wasOpen ? "The connection to the terminal was lost." : "The server did not open a terminal.", {
    exitCode: EXIT.failed,
    details: [
      wasOpen ? "Its program is ended with it. Type the same command to open another." : "Try again in a minute.",
    ],
    cause,
  });

const SILENCE_MS_MAX = 60_000;
/** Leaves the alternate screen, shows the cursor, and ends mouse reports, bracketed paste, keypad modes and colours. */
const SCREEN_RESET = `${["?1047l", "?25h", "?1000l", "?1002l", "?1003l", "?1006l", "?2004l", "?1l", "0m"].map((code) => `\u001b[${code}`).join("")}\u001b>\r\n`;
