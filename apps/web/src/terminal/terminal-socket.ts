import type { TerminalPlace, TerminalSize } from "@berth/core/resource";
import { sessionParams } from "../api/session.ts";

/** Why a terminal did not open, or ended. */
export interface TerminalProblem {
  readonly message: string;
  readonly code?: string;
  readonly errors?: Readonly<Record<string, readonly string[]>>;
}

interface Handlers {
  readonly onOpened: () => void;
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Called once. `undefined`: the shell has ended by itself. */
  readonly onEnd: (problem: TerminalProblem | undefined) => void;
}

export interface TerminalSocket {
  send(text: string): void;
  resize(size: TerminalSize): void;
  close(): void;
}

/** Opens a terminal by a WebSocket of its own. */
export function openTerminal(place: TerminalPlace, size: TerminalSize, handlers: Handlers): TerminalSocket {
  const url = new URL("/terminal", window.location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(url);
  socket.binaryType = "arraybuffer";
  const encoder = new TextEncoder();
  let hasEnded = false;
  const end = (problem: TerminalProblem | undefined) => {
    if (hasEnded) return;
    hasEnded = true;
    window.clearTimeout(silence);
    handlers.onEnd(problem);
    socket.close();
  };
  let silence: number | undefined;
  const heard = () => {
    window.clearTimeout(silence);
    silence = window.setTimeout(() => end(LOST), SILENCE_MS_MAX);
  };
  const isOpen = () => socket.readyState === WebSocket.OPEN && !hasEnded;
  socket.addEventListener("open", () => socket.send(JSON.stringify({ ...place, ...size, ...sessionParams() })));
  socket.addEventListener("message", ({ data }: MessageEvent<ArrayBuffer | string>) => {
    heard();
    if (typeof data !== "string") return handlers.onOutput(new Uint8Array(data));
    const said = JSON.parse(data) as {
      readonly error?: TerminalProblem;
      readonly ended?: true;
      readonly opened?: true;
    };
    if (said.error !== undefined) end(said.error);
    else if (said.ended) end(undefined);
    else if (said.opened) handlers.onOpened();
  });
  socket.addEventListener("close", () => end(LOST));
  return {
    send: (text) => {
      if (isOpen()) for (const part of partsOf(encoder.encode(text))) socket.send(part);
    },
    resize: (next) => {
      if (isOpen()) socket.send(JSON.stringify(next));
    },
    close: () => end(undefined),
  };
}

const LOST: TerminalProblem = {
  message: "The connection to the terminal was lost. Its shell was ended; open another one.",
};

/** The server gives a sign of life every 25 seconds. */
const SILENCE_MS_MAX = 80_000;

/** Messages are limited; a pasted text may be longer. */
const PART_BYTES_MAX = 32_768;

function partsOf(bytes: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
  const parts = [];
  for (let at = 0; at < bytes.length; at += PART_BYTES_MAX) parts.push(bytes.subarray(at, at + PART_BYTES_MAX));
  return parts;
}
