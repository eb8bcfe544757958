import { DomainError, invalid } from "@berth/core";
import type { Terminal } from "@berth/core/ports";
import { TERMINAL_SIDE_MAX, TerminalOpening, TerminalSize } from "@berth/core/resource";
import { type Ability, can, type Scope } from "@berth/core/team";
import type { WebSocket } from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { asDomainError, problemOf } from "./errors.ts";
import { admittedWith } from "./operation.ts";
import type { RestOptions } from "./rest/plugin.ts";
import { TERMINAL_TIMES, type TerminalLife, type TerminalTimes, terminalLife } from "./terminal-life.ts";

export interface TerminalSocketOptions extends Pick<RestOptions, "admission" | "controlFor" | "browsers" | "onFault"> {
  /** Default: `TERMINAL_TIMES`. */
  readonly times?: Partial<TerminalTimes>;
}

const OPENING_SECONDS_MAX = 10;
const CHECK_SECONDS = 5;
/** Checks for one that counts as a use of the token: one a minute. */
const CHECKS_PER_USE = 12;
/** Output that a client has not received yet; more is read when it has. */
const BUFFERED_BYTES_MAX = 1_048_576;
const DRAIN_CHECK_MS = 20;

/**
 * Terminals: a WebSocket each. The first message, in JSON, says where, and for a container which program; later ones in
 * JSON are new sizes, and binary ones are what is typed and printed. It is not an operation: programs cannot run
 * commands by REST or tRPC.
 */
export function terminalSocket(app: FastifyInstance, options: TerminalSocketOptions, done: () => void): void {
  const refuseForeign = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!options.browsers.isForeignSocket(request)) return;
    const message = "A page of another origin may not open a WebSocket here.";
    await reply.code(403).send({ message, code: "auth.foreign_page", request_id: request.id });
  };
  app.get("/", { websocket: true, onRequest: refuseForeign }, (socket, request) => {
    // A rejected promise would end the process.
    serve(socket, request, options).catch((cause: unknown) => {
      const problem = problemOf(cause, request.id);
      if (problem.status >= 500 && socket.readyState === socket.OPEN) {
        options.onFault(cause, { id: request.id, operation: "terminal" });
      }
      say(socket, { error: { ...problem.body, status: problem.status } });
      socket.close(1000);
    });
  });
  done();
}

async function serve(socket: WebSocket, request: FastifyRequest, options: TerminalSocketOptions): Promise<void> {
  const { admission, browsers, controlFor } = options;
  const messages = inbox(socket);
  const opening = await messages.opening;
  const identify = async (calls: number, isUse = true): Promise<Scope> => {
    const identity = await admission.identify({
      authorization: request.headers.authorization,
      session: browsers.session(request, opening.session_key),
      ip: request.ip,
      calls,
      isUse,
      setHeader: () => undefined,
    });
    const caller = { scope: identity?.scope, isApiEnabled: identity?.isApiEnabled ?? true };
    return admittedWith(caller, abilityFor(opening));
  };
  const scope = await identify(1);
  const leave = admission.enter("stream", scope);
  let terminal: Terminal | undefined;
  let watch: NodeJS.Timeout | undefined;
  let life: TerminalLife | undefined;
  try {
    terminal = await open(controlFor(scope), opening);
    const opened = terminal;
    say(socket, { opened: true });
    const revoked = Promise.withResolvers<never>();
    revoked.promise.catch(() => undefined);
    let checks = 0;
    watch = setInterval(async () => {
      try {
        const now = await identify(0, ++checks % CHECKS_PER_USE === 0);
        if (now.teamId !== scope.teamId || !can(now, abilityFor(opening))) throw withdrawn();
      } catch (cause) {
        // While the database is unavailable, open terminals stay open.
        if (REFUSALS.test(asDomainError(cause).code)) revoked.reject(cause);
      }
    }, CHECK_SECONDS * 1000);
    life = terminalLife(socket, { ...TERMINAL_TIMES, ...options.times }, (notice) =>
      socket.send(Buffer.from(`\r\n[Berth] ${notice}\r\n`), { binary: true }),
    );
    const { typed, idle } = life;
    const write = (input: Uint8Array) => {
      typed();
      return opened.write(input);
    };
    messages.deliverTo({ write, resize: (next) => opened.resize(next) }, (cause) => revoked.reject(cause));
    const ended = print(opened, socket).then(() => opened.exitCode());
    const isOver = Promise.race([messages.closed, idle]).then(() => null);
    const exit_code = await Promise.race([ended, revoked.promise, isOver]);
    say(socket, { ended: true, exit_code });
    socket.close(1000);
  } finally {
    clearInterval(watch);
    life?.stop();
    messages.drop();
    leave();
    await terminal?.close();
  }
}

const abilityFor = ({ kind }: TerminalOpening): Ability => (kind === "server" ? "root" : "terminal");

const REFUSALS = /^auth\./;
const withdrawn = () => new DomainError("auth.missing_ability", "The right to this terminal was taken away.");

async function open({ terminals }: ReturnType<TerminalSocketOptions["controlFor"]>, opening: TerminalOpening) {
  const size = { columns: opening.columns, rows: opening.rows };
  if (opening.kind === "server") return await terminals.openOnServer(opening.uuid, size);
  const { kind, uuid } = opening;
  if ("client" in opening) return await terminals.openInContainer({ kind, uuid }, size, { isClient: true });
  const { container, command: argv, server_uuid: serverUuid } = opening;
  return await terminals.openInContainer({ kind, uuid }, size, { container, argv, serverUuid });
}

/** Sends the output, as fast as the client reads it. */
async function print({ output }: Terminal, socket: WebSocket): Promise<void> {
  for await (const bytes of output) {
    socket.send(bytes, { binary: true });
    while (socket.bufferedAmount > BUFFERED_BYTES_MAX && socket.readyState === socket.OPEN) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_CHECK_MS));
    }
  }
}

/** What a client changes in a terminal. */
type Typed = Pick<Terminal, "write" | "resize">;

/** Keeps what arrives before the terminal is open, and delivers it in order. */
function inbox(socket: WebSocket) {
  const opening = Promise.withResolvers<TerminalOpening>();
  const opened = Promise.withResolvers<Typed>();
  const closed = Promise.withResolvers<void>();
  opened.promise.catch(() => undefined);
  opening.promise.catch(() => undefined);
  const late = setTimeout(() => {
    opening.reject(new DomainError("request.invalid", "No terminal was asked for in time. Connect again."));
  }, OPENING_SECONDS_MAX * 1000);
  let isAsked = false;
  let isDropped = false;
  let failed: (cause: unknown) => void = () => undefined;
  let turn: Promise<void> = Promise.resolve();
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (!isAsked) {
      isAsked = true;
      clearTimeout(late);
      const parsed = TerminalOpening.safeParse(isBinary ? undefined : jsonOf(data));
      if (parsed.success) opening.resolve(parsed.data);
      else opening.reject(invalid({ _: ["The first message must say in JSON which terminal to open, and its size."] }));
      return;
    }
    // One message at a time, so that a shell that does not read slows its client.
    socket.pause();
    turn = turn
      .then(async () => {
        const terminal = await opened.promise;
        if (isDropped) return;
        if (isBinary) return await terminal.write(data);
        const size = TerminalSize.safeParse(jsonOf(data));
        if (!size.success) throw invalid({ _: [`A size is {"columns", "rows"}, from 1 to ${TERMINAL_SIDE_MAX}.`] });
        await terminal.resize(size.data);
      })
      .catch((cause: unknown) => failed(cause))
      .finally(() => socket.resume());
  });
  socket.once("close", () => {
    clearTimeout(late);
    opening.reject(new DomainError("request.invalid", "The connection was closed."));
    closed.resolve();
  });
  socket.on("error", () => socket.terminate());
  return {
    opening: opening.promise,
    closed: closed.promise,
    /** From now on nothing is typed any more, though the shell may take a moment to end. */
    drop() {
      isDropped = true;
    },
    deliverTo(terminal: Typed, onFailure: (cause: unknown) => void) {
      failed = onFailure;
      opened.resolve(terminal);
    },
  };
}

function jsonOf(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString("utf8"));
  } catch {
    return undefined;
  }
}

function say(socket: WebSocket, message: object): void {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message));
}
