import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "./program.ts";
import { screen } from "./screen.fixture.ts";
import type { System } from "./system.ts";

type Input = Readonly<Record<string, unknown>>;
/** What an operation answers, by its path in the client: `databases.list`. One that throws a `Refusal` refuses. */
export type Answers = Readonly<Record<string, (input: Input) => unknown>>;

export class Refusal extends Error {
  readonly problem: object;
  readonly status: number;
  constructor(message: string, code: string, status = 422, errors?: object) {
    super(message);
    this.problem = { message, code, ...(errors === undefined ? {} : { errors }) };
    this.status = status;
  }
}

interface TerminalInput {
  readonly cwd?: string;
  /** What its standard input has. */
  readonly input?: string;
  /** Whether a person types the input. */
  readonly isTerminal?: boolean;
}

/** The end of a subscription. */
const RETURN = "event: return\ndata: \n\n";

/** A server that has these answers only: of a subscription, the events until its end. @param sendFile Answers requests of REST. */
export async function answering(answers: Answers, sendFile?: (reply: ServerResponse, body: string) => void) {
  const called: string[] = [];
  const server = createServer(async (request, reply) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://berth");
    const body = await text(request);
    if (sendFile !== undefined && pathname.startsWith("/api/v1/")) {
      called.push(pathname);
      return sendFile(reply, body);
    }
    const inputs = JSON.parse(body || searchParams.get("input") || "{}");
    const paths = pathname.replace("/trpc/", "").split(",");
    called.push(...paths);
    if (request.headers.accept?.includes("text/event-stream")) {
      reply.setHeader("content-type", "text/event-stream");
      const sent = answered(answers, paths.join(","), inputs);
      const events = sent.result === undefined ? [] : [sent.result.data].flat();
      return reply.end([...events.map((event) => `data: ${JSON.stringify(event)}\n\n`), RETURN].join(""));
    }
    reply.setHeader("content-type", "application/json");
    reply.end(JSON.stringify(paths.map((path, index) => answered(answers, path, inputs[index] ?? {}))));
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  // A server that listens on a port has such an address.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    /** Paths of the operations so far. */
    called,
    async run(argv: readonly string[], { cwd = "/", input = "", isTerminal = false }: TerminalInput = {}) {
      const [out, err] = [screen(), screen()];
      const system: System = {
        ...{
          stdin: Object.assign(new PassThrough().end(input), { isTTY: isTerminal }),
          stdout: out.stream,
          stderr: err.stream,
        },
        ...{ env: { BERTH_URL: url, BERTH_TOKEN: "1|secret" }, cwd, homeFolder: "/nowhere" },
        ...{ isRoot: false, onInterrupt: () => () => undefined },
      };
      return { exitCode: await run(argv, system), stdout: out.text(), stderr: err.text() };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Runs one command against a server that has these answers only. */
export async function ranWith(answers: Answers, argv: readonly string[], place: TerminalInput = {}) {
  await using server = await answering(answers);
  return { ...(await server.run(argv, place)), called: server.called, url: server.url };
}

function answered(answers: Answers, path: string, input: Input) {
  try {
    const answer = answers[path];
    if (answer === undefined) throw new Refusal(`The test has no answer of ${path}.`, "test");
    return { result: { data: answer(input) } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { message, problem, status } = error;
    return { error: { message, code: -32_600, data: { httpStatus: status, problem } } };
  }
}
