import { describe, expect, test } from "vitest";
import { buildFailure } from "./failure.ts";
import { buildTrace } from "./progress.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

function traced(...events: readonly (object | string)[]) {
  const lines: string[] = [];
  const trace = buildTrace((line, stream) => lines.push(stream === "stderr" ? `! ${line}` : line));
  for (const event of events) trace.write(typeof event === "string" ? event : JSON.stringify(event));
  trace.end();
  return { lines, trace };
}

describe("what BuildKit tells", () => {
  test("becomes steps and their decoded output, without what is only its own business", () => {
    const { lines } = traced(
      { vertexes: [{ digest: "i", name: "[internal] load .dockerignore", started: "1" }] },
      { vertexes: [{ digest: "a", name: "[1/2] FROM alpine", started: "1", completed: "1", cached: true }] },
      { vertexes: [{ digest: "b", name: "[2/2] RUN make\n all" }] },
      { vertexes: [{ digest: "b", name: "[2/2] RUN make\n all", started: "2" }] },
      { statuses: [{ id: "extracting", vertex: "b" }] },
      { logs: [{ vertex: "b", stream: 1, data: base64("one\ntw") }] },
      { logs: [{ vertex: "b", stream: 2, data: base64("warn\n") }] },
      { logs: [{ vertex: "b", stream: 1, data: base64("o") }] },
      { vertexes: [{ digest: "b", name: "[2/2] RUN make\n all", started: "2", completed: "3" }] },
    );
    expect(lines).toEqual(["CACHED [1/2] FROM alpine", "[2/2] RUN make all", "one", "! warn", "two"]);
  });

  test("is read whole when an event is longer than a line may be", () => {
    const event = JSON.stringify({ logs: [{ vertex: "b", data: base64("x".repeat(80_000)) }] });
    const { lines } = traced(event.slice(0, 65_536), event.slice(65_536));
    expect(lines.join("")).toBe("x".repeat(80_000));
  });

  test.each([["{"], ["null"], ["[]"], ['{"vertexes":7}'], ["\u0000"], [""]])("may be nonsense: %j", (line) => {
    expect(traced(line).lines).toEqual([]);
  });
});

describe("a failure", () => {
  const step = (error: string) => ({ name: "build" as const, shown: "RUN x", error, lines: [] });

  test.each([
    [step('process "/bin/sh -c x" did not complete successfully: exit code: 137'), [], "ran out of memory"],
    [
      undefined,
      ["ERROR: target app: failed to solve: dockerfile parse error on line 2: unknown instruction: FOO"],
      "could not be built: dockerfile parse error on line 2",
    ],
    [step("pull access denied for x"), [], "docker login"],
    [
      undefined,
      ['ERROR: failed to solve: rpc error: code = Unknown desc = target stage "y" could not be found'],
      "Correct dockerfile_target_build.",
    ],
    [undefined, ["docker: 'buildx' is not a docker command."], "apt-get install docker-cli docker-buildx"],
    [undefined, [], "BuildKit gave no reason"],
  ])("is one sentence: %j %j", (failed, words, expected) => {
    expect(buildFailure(failed, words).message).toContain(expected);
  });
});
