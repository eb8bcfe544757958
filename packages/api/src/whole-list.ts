import { DomainError } from "@berth/core";
import type { AnyRouter } from "@trpc/server";
import pLimit from "p-limit";
import { isTooLarge } from "./bounded-read.ts";
import type { HeldBytes } from "./held-bytes.ts";
import { itemSizes, type ListPart, listParts, type PartSize, type ReadPart, sizeOf } from "./rest/long-list.ts";
import { askedPage, isPagedList, operationsOf } from "./rest/routes.ts";
import type { BoundedLists } from "./trpc.ts";

/** Limits the lists of tRPC, which sends an answer as a whole, by the memory of all requests. */
export interface ListBounds {
  /** For one request, until its `bytes` are closed. */
  open(bytes: HeldBytes): BoundedLists;
}

export function listBounds(router: AnyRouter): ListBounds {
  const paged = new Map(operationsOf(router).flatMap((one) => (isPagedList(one) ? [[one.name, one] as const] : [])));
  const sizes = itemSizes();
  return {
    open(bytes) {
      let answered = 0;
      const hold = (characters: number) => {
        answered += characters;
        if (answered > ANSWER_CHARACTERS_MAX) throw tooLarge();
        bytes.hold(characters * FORMS);
      };
      // The calls of a batch start together; few read at once, so that their results are counted before others read.
      const oneOfFew = pLimit(CALLS_AT_ONCE);
      return {
        async read(name, { input, teamId, type }, read) {
          const operation = paged.get(name);
          const asked = operation && askedPage(operation, inputOf(input));
          if (asked !== undefined) {
            const known = { list: `${name} ${teamId}`, teamId, sizes, size: PART };
            return await wholeList((readPart) => listParts(readPart, asked, known), { input, hold }, read);
          }
          if (type === "subscription") return await read(input, undefined);
          return await oneOfFew(async () => {
            const result = await read(input, undefined);
            if (!("data" in result)) return result;
            // The result of a change must be returned, whatever its size.
            if (type === "mutation") bytes.note(sizeOfResult(result) * FORMS);
            else hold(sizeOfResult(result));
            return result;
          });
        },
      };
    },
  };
}

/**
 * Larger parts than of a list that is sent while it is read: all of this one is kept until it is sent, and each part
 * costs as many statements as the whole. An overview of 500 resources is one part.
 */
const PART: PartSize = { bytes: 512 * 1024, items: 500 };
const ANSWER_CHARACTERS_MAX = 16 * 1024 * 1024;
/** An answer sent as a whole is in memory as objects and as text. */
const FORMS = 2;
const CALLS_AT_ONCE = 4;

const tooLarge = () =>
  new DomainError(
    "answer.too_large",
    "The answer exceeds 16 MB. Ask for less with `take` and `skip`, or by REST, which has no limit.",
  );
/** A list as one result. Its parts are counted while they are read. */
async function wholeList<R extends { readonly ok: boolean }>(
  partsOf: (read: ReadPart) => AsyncIterable<ListPart>,
  { input, hold }: { readonly input: unknown; readonly hold: (characters: number) => void },
  read: (input: unknown, isDivisible: boolean | undefined) => Promise<R>,
): Promise<R> {
  let result: R | undefined;
  const readPart: ReadPart = async (page, isSmallest) => {
    result = await read({ ...inputOf(input), ...page }, !isSmallest);
    if (!("data" in result)) throw isTooLarge(result) ? result.error : new PartFailed();
    return result.data as readonly unknown[]; // As its output says.
  };
  const data: unknown[] = [];
  try {
    for await (const { items } of partsOf(readPart)) {
      hold(items.reduce<number>((sum, item) => sum + sizeOf(item), 0));
      data.push(...items);
    }
  } catch (error) {
    if (!(error instanceof PartFailed)) throw error;
    return result as R; // it contains the error
  }
  return { ...(result as R), data };
}

/** Its check has measured most. */
const sizeOfResult = (result: { readonly data: unknown; readonly size?: unknown }): number =>
  typeof result.size === "number" ? result.size : sizeOf(result.data);

const inputOf = (input: unknown) => (input ?? {}) as Readonly<Record<string, unknown>>;

class PartFailed extends Error {}
