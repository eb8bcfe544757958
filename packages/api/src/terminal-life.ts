import type { WebSocket } from "@fastify/websocket";

export interface TerminalTimes {
  /** A terminal ends when nothing was typed into it for so long. 0: never. */
  readonly idleSeconds: number;
  /** Time between two signs of life. A client that does not answer until the next one is gone. */
  readonly pingSeconds: number;
}

export const TERMINAL_TIMES: TerminalTimes = { idleSeconds: 3600, pingSeconds: 25 };

export interface TerminalLife {
  /** Something was typed. */
  typed(): void;
  /** Resolves when nothing was typed for too long. */
  readonly idle: Promise<void>;
  stop(): void;
}

/**
 * Ends what nobody uses: connections whose client is gone without a word, and terminals that were left open.
 * Pages cannot see a ping of the protocol, so a message goes with each.
 * @param show Prints a notice in the terminal.
 */
export function terminalLife(
  socket: WebSocket,
  { idleSeconds, pingSeconds }: TerminalTimes,
  show: (notice: string) => void,
): TerminalLife {
  const idle = Promise.withResolvers<void>();
  const noticeSeconds = Math.min(NOTICE_SECONDS, idleSeconds / 2);
  let timer: NodeJS.Timeout | undefined;
  const typed = () => {
    clearTimeout(timer);
    if (idleSeconds === 0) return;
    timer = setTimeout(
      () => {
        show(`Nothing was typed for a long time. This terminal ends in ${Math.ceil(noticeSeconds)} s unless you type.`);
        timer = setTimeout(() => {
          show("This terminal was ended, because nothing was typed.");
          idle.resolve();
        }, noticeSeconds * 1000);
      },
      (idleSeconds - noticeSeconds) * 1000,
    );
  };
  let hasAnswered = true;
  socket.on("pong", () => {
    hasAnswered = true;
  });
  const pings = setInterval(() => {
    // While a shell does not read what is typed, answers are not read either.
    if (!hasAnswered && !socket.isPaused) return socket.terminate();
    hasAnswered = false;
    socket.ping();
    socket.send(JSON.stringify({ alive: true }));
  }, pingSeconds * 1000);
  typed();
  return {
    typed,
    idle: idle.promise,
    stop() {
      clearTimeout(timer);
      clearInterval(pings);
    },
  };
}

const NOTICE_SECONDS = 60;
