import { describe, expect, test } from "vitest";
import type { Status } from "../buildkit/messages.ts";
import { buildFailure } from "./failure.ts";
import { buildTrace } from "./progress.ts";

const vertex = (digest: string, more: Partial<Status["vertexes"][number]>) => ({
  vertexes: [{ digest, name: "", cached: false, error: "", ...more }],
  logs: [],
});
const log = (text: string, stream = 1) => ({
  vertexes: [],
  logs: [{ vertex: "b", stream, msg: Buffer.from(text) }],
});
const at = (seconds: number) => ({ seconds });

function traced(...events: readonly Status[]) {
  const lines: string[] = [];
  const trace = buildTrace((line, stream) => lines.push(stream === "stderr" ? `! ${line}` : line));
  for (const event of events) trace.write(event);
  trace.end();
  return { lines, trace };
}

describe("what BuildKit tells", () => {
  test("becomes steps and their output, without what is only its own business", () => {
    const { lines } = traced(
      vertex("i", { name: "[internal] load .dockerignore", started: at(1) }),
      vertex("a", { name: "[1/2] FROM alpine", started: at(1), completed: at(1), cached: true }),
      vertex("b", { name: "[2/2] RUN make\n all" }),
      vertex("b", { name: "[2/2] RUN make\n all", started: at(2) }),
      log("one\ntw"),
      log("warn\n", 2),
      log("o"),
      vertex("b", { name: "[2/2] RUN make\n all", started: at(2), completed: at(3) }),
    );
    expect(lines).toEqual(["CACHED [1/2] FROM alpine", "[2/2] RUN make all", "one", "! warn", "two"]);
  });

  test("keeps the step that failed with the end of what it wrote", () => {
    const { trace } = traced(
      vertex("a", { name: "[1/2] RUN sleep", started: at(1), error: "context canceled" }),
      vertex("b", { name: "[2/2] RUN make", started: at(1) }),
      log("no rule"),
      vertex("b", { name: "[2/2] RUN make", started: at(1), completed: at(2), error: "exit code: 2" }),
    );
    expect(trace.failedStep()).toMatchObject({ shown: "RUN make", error: "exit code: 2", lines: ["no rule"] });
  });
});

describe("a failure", () => {
  const step = (error: string) => ({ name: "build" as const, shown: "RUN x", error, lines: [] });

  test.each([
    [step('process "/bin/sh -c x" did not complete successfully: exit code: 137'), "", "ran out of memory"],
    [
      undefined,
      "failed to solve: dockerfile parse error on line 2: unknown instruction: FOO",
      "could not be built: dockerfile parse error on line 2",
    ],
    [step("pull access denied for x"), "", "login for its registry"],
    [
      undefined,
      'failed to solve: rpc error: code = Unknown desc = target stage "y" could not be found',
      "Correct dockerfile_target_build.",
    ],
    [undefined, "", "BuildKit gave no reason"],
  ])("is one sentence: %j %j", (failed, said, expected) => {
    expect(buildFailure(failed, new Error(said)).message).toContain(expected);
  });
});
