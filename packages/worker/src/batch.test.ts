import { expect, test } from "vitest";
import { batched } from "./batch.ts";

/** A read that waits until released, and returns its own number for each key. */
function held() {
  const readings: { readonly keys: readonly string[]; readonly answer: () => void; readonly fail: () => void }[] = [];
  const read = batched(
    (keys: readonly string[]) =>
      new Promise<ReadonlyMap<string, number>>((resolve, reject) => {
        const number = readings.length + 1;
        const answer = () => resolve(new Map(keys.map((key) => [key, number])));
        readings.push({ keys, answer, fail: () => reject(new Error("away")) });
      }),
  );
  const turn = async () => {
    for (let count = 0; count < 3; count++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { read, readings, turn };
}

test("answers all that is asked for at once by one reading, each thing read once", async () => {
  const { read, readings, turn } = held();
  const asked = [read("a"), read("b"), Promise.resolve().then(() => read("a"))];
  await turn();
  expect(readings.map(({ keys }) => keys)).toEqual([["a", "b"]]);
  readings[0]?.answer();
  expect(await Promise.all(asked)).toEqual([1, 1, 1]);
});

test("never answers by what was begun to be read before it was asked", async () => {
  const { read, readings, turn } = held();
  const first = read("a");
  await turn();
  const second = read("a");
  await turn();
  expect(readings).toHaveLength(1);
  readings[0]?.answer();
  expect(await first).toBe(1);
  await turn();
  readings[1]?.answer();
  expect(await second).toBe(2);
});

test("continues after a reading that failed", async () => {
  const { read, readings, turn } = held();
  const failed = Promise.allSettled([read("a"), read("b")]);
  await turn();
  readings[0]?.fail();
  expect((await failed).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const next = read("a");
  await turn();
  readings[1]?.answer();
  expect(await next).toBe(2);
});
