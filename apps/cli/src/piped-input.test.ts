import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { watchPipedInput } from "./piped-input.ts";

const NEVER_MS = 60_000;
const fed = (...chunks: readonly string[]) => {
  const stdin = new PassThrough();
  for (const chunk of chunks) stdin.write(chunk);
  return stdin;
};

test("what is piped in is refused, and the remedy named", async () => {
  const input = watchPipedInput({ stdin: fed("hello\n") }, NEVER_MS);
  await expect(input.refuse()).rejects.toMatchObject({
    exitCode: 2,
    details: [expect.stringContaining("sh -c"), expect.stringContaining("</dev/null")],
  });
});

test("what is piped in later is refused too", async () => {
  const stdin = fed();
  const refused = watchPipedInput({ stdin }, NEVER_MS).refuse();
  stdin.write("late");
  await expect(refused).rejects.toThrow("Standard input is not passed on");
});

test("an input that ends without a byte, as of /dev/null, is not refused", async () => {
  const stdin = fed();
  stdin.end();
  await watchPipedInput({ stdin }, NEVER_MS).refuse();
});

test("a pipe that stays open and silent delays a command by no more than a moment", async () => {
  const stdin = fed();
  const input = watchPipedInput({ stdin }, 1);
  await input.refuse();
  expect(input.hasArrived()).toBe(false);
  stdin.write("after the start");
  await expect.poll(() => input.hasArrived()).toBe(true);
});

test("keys of a terminal are left to the shell", async () => {
  const stdin = Object.assign(fed("typed ahead"), { isTTY: true });
  await watchPipedInput({ stdin }, NEVER_MS).refuse();
  expect(stdin.readableLength).toBe("typed ahead".length);
});
