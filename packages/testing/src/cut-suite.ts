import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Relay } from "./relay.ts";
import { until } from "./until.ts";

/** How a kind of connection is cut. */
export interface Cuts {
  /** Cuts all open connections. */
  all(): void;
  /** Cuts the next connection that sends something, before the other side receives it. */
  inRequest(): Promise<void>;
  /** Cuts the next connection whose other side answers, before the answer arrives. */
  inAnswer(): Promise<void>;
}

/** A client of one kind of connection. */
export interface CutClient {
  readonly cuts: Cuts;
  /** Has an effect that belongs to this number. Resolves once it is acknowledged, with `false` if it was refused. */
  write(number: number): Promise<unknown>;
  /** Numbers whose effect took place, each as often as it did. */
  written(): Promise<readonly number[]>;
  /** Reads a long answer, and says when its first bytes arrived. @returns Whether it arrived whole. */
  read(onBegun: () => void): Promise<boolean>;
  close(): Promise<void>;
}

export interface CutSuite {
  open(): Promise<CutClient>;
  /** Codes that a call which was cut may fail with. */
  readonly codes: readonly string[];
  /** Cuts at each moment. Default: 20. `CUT_ROUNDS` in the environment asks for another number of all suites. */
  readonly rounds?: number;
}

export const cutsOf = (way: Relay): Cuts => ({
  all: () => way.cut(),
  inRequest: () => way.cutAt({ matches: () => true, isPassedOn: false }),
  inAnswer: () => way.cutAt({ matches: () => true, isPassedOn: true }),
});

/**
 * Cuts a kind of connection at each moment: the client continues, what it acknowledged took effect, nothing took
 * effect twice, and no half of an answer is passed off as a whole. vitest fails a suite whose process reports an error
 * that nobody handled.
 */
export function describeCuts(name: string, { open, codes, rounds: ownRounds = 20 }: CutSuite): void {
  const rounds = Number(process.env[CUT_ROUNDS] ?? ownRounds);
  describe(`${name} that is cut`, { timeout: TEST_MS_MAX + rounds * ROUND_MS_MAX }, () => {
    let client: CutClient;
    let next = 0;
    const acknowledged: number[] = [];
    beforeAll(async () => {
      client = await open();
    });
    afterAll(() => client?.close());

    /** @returns Whether it was acknowledged. */
    const write = async (): Promise<boolean> => {
      next += 1;
      const number = next;
      const isDone = await client.write(number).then((answer) => answer !== false, isExpected);
      if (isDone) acknowledged.push(number);
      return isDone;
    };
    const isExpected = (cause: unknown): false => {
      if (!isDomainError(cause) || !codes.includes(cause.code)) throw cause;
      return false;
    };
    const isRightAgain = async () => {
      await until(write, { what: "a call succeeds again" });
      const written = await client.written();
      expect(new Set(written).size).toBe(written.length);
      expect(acknowledged.filter((one) => !written.includes(one))).toEqual([]);
    };

    test("while idle: the next calls succeed", async () => {
      for (let round = 0; round < rounds; round += 1) {
        await until(write);
        client.cuts.all();
      }
      await isRightAgain();
    });

    test.each(["inRequest", "inAnswer"] as const)(
      "%s: it fails or succeeds, and the next calls succeed",
      async (at) => {
        for (let round = 0; round < rounds; round += 1) {
          let isCut = false;
          const cut = client.cuts[at]().then(() => {
            isCut = true;
          });
          // A call that fails before it sends anything, as in a pause after a failure, is not cut.
          while (!isCut) await paced(write);
          await cut;
        }
        await isRightAgain();
      },
    );

    test("while an answer is read: it arrives whole, or the call fails", async () => {
      for (let round = 0; round < rounds; round += 1) {
        const isWhole = await client.read(() => client.cuts.all()).catch(isExpected);
        if (isWhole === false) await until(write);
      }
      await isRightAgain();
      expect(await client.read(() => undefined)).toBe(true);
    });

    test("repeatedly under load", async () => {
      let isOver = false;
      const writers = Array.from({ length: WRITERS }, async () => {
        while (!isOver) await paced(write);
      });
      for (let round = 0; round < rounds; round += 1) {
        const before = acknowledged.length;
        client.cuts.all();
        await until(() => acknowledged.length > before, { what: "a call succeeds between two cuts" });
      }
      isOver = true;
      await Promise.all(writers);
      await isRightAgain();
    });
  });
}

/** Calls that fail at once would otherwise occupy the processor. */
async function paced(call: () => Promise<boolean>): Promise<void> {
  if (!(await call())) await delay(PAUSE_MS);
}

/** Variable with the number of cuts at each moment. */
export const CUT_ROUNDS = "BERTH_TEST_CUT_ROUNDS";

const TEST_MS_MAX = 300_000;
const ROUND_MS_MAX = 1_500; // On a busy machine.
const WRITERS = 4;
const PAUSE_MS = 20;
