import { z } from "zod";

export const TERMINAL_SIDE_MAX = 1000;
const side = z.int().min(1).max(TERMINAL_SIDE_MAX);

export const TerminalSize = z.strictObject({ columns: side, rows: side });
export type TerminalSize = Readonly<z.infer<typeof TerminalSize>>;

const uuid = z.string().min(1).max(100);
/** Arguments are passed on as they are, which NUL cannot be. */
const word = z.string().refine((text) => !text.includes("\0"), "Must not contain NUL.");

const SENT = { ...TerminalSize.shape, session_key: z.string().max(100).optional() };

/** The first message of a client that opens a terminal. */
export const TerminalOpening = z.union([
  z.strictObject({
    ...SENT,
    kind: z.enum(["application", "service", "database"]),
    uuid,
    container: z.string().min(1).max(255).optional(),
    /** Which of the servers of an application, if there are several. Default: the primary one. */
    server_uuid: uuid.optional(),
    /** A program and its arguments. Default: the container's shell. */
    command: z.tuple([word.min(1)], word).optional(),
  }),
  /** The client of the database's engine, which the server chooses. */
  z.strictObject({ ...SENT, kind: z.literal("database"), uuid, client: z.literal(true) }),
  z.strictObject({ ...SENT, kind: z.literal("server"), uuid }),
]);
export type TerminalOpening = z.infer<typeof TerminalOpening>;

type WithoutSent<Opening> = Opening extends unknown ? Readonly<Omit<Opening, keyof typeof SENT>> : never;
/** Where a terminal opens, and what runs in it. */
export type TerminalPlace = WithoutSent<TerminalOpening>;
