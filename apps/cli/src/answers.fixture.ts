import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { run } from "./program.ts";
import { screen } from "./screen.fixture.ts";
import type { System } from "./system.ts";

/** What an operation answers, by its path in the client: `databases.list`. One that throws a `Refusal` refuses. */
export type Answers = Readonly<Record<string, (input: Readonly<Record<string, unknown>>) => unknown>>;

export class Refusal extends Error {
  readonly problem: object;
  constructor(message: string, code: string, errors: Readonly<Record<string, readonly string[]>> = {}) {
    super(message);
    this.problem = { message, code, errors };
  }
}

/**
 * Runs a command against a server that has these answers only.
 * @param place Its folder, and what its standard input has.
 */
export async function ranWith(
  answers: Answers,
  argv: readonly string[],
  { cwd = "/", input = "" }: { readonly cwd?: string; readonly input?: string } = {},
) {
  const called: string[] = [];
  const server = createServer(async (request, reply) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://berth");
    const body = await text(request);
    const inputs = JSON.parse(body || searchParams.get("input") || "{}");
    const paths = pathname.replace("/trpc/", "").split(",");
    called.push(...paths);
    reply.setHeader("content-type", "application/json");
    reply.end(JSON.stringify(paths.map((path, index) => answered(answers, path, inputs[index] ?? {}))));
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  // A server that listens on a port has such an address.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [out, err] = [screen(), screen()];
  const system: System = {
    stdin: new PassThrough().end(input),
    stdout: out.stream,
    stderr: err.stream,
    env: { BERTH_URL: url, BERTH_TOKEN: "1|secret" },
    cwd,
    homeFolder: "/nowhere",
    isRoot: false,
    onInterrupt: () => () => undefined,
  };
  try {
    return { exitCode: await run(argv, system), stdout: out.text(), stderr: err.text(), called, url };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function answered(answers: Answers, path: string, input: Readonly<Record<string, unknown>>) {
  try {
    const answer = answers[path];
    if (answer === undefined) throw new Refusal(`The test has no answer of ${path}.`, "test");
    return { result: { data: answer(input) } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { error: { message: error.message, code: -32_600, data: { httpStatus: 422, problem: error.problem } } };
  }
}
