import { DomainError } from "@berth/core";
import type { AnyRouter } from "@trpc/server";
import { itemSizes, type ListPart, listParts, type ReadPart, sizeOf } from "./rest/long-list.ts";
import { askedPage, isPagedList, operationsOf } from "./rest/routes.ts";
import type { BoundedLists } from "./trpc.ts";

/** Bounds the lists of tRPC, which sends an answer as a whole, by what all requests hold together. */
export interface ListBounds {
  /** For one request, until `close`. */
  open(): { readonly lists: BoundedLists; close(): void };
}

export function listBounds(router: AnyRouter): ListBounds {
  const paged = new Map(operationsOf(router).flatMap((one) => (isPagedList(one) ? [[one.name, one] as const] : [])));
  const sizes = itemSizes();
  let heldByAll = 0;
  return {
    open() {
      let held = 0;
      let isClosed = false;
      const hold = (characters: number) => {
        // Nobody reads the answer any more, and nothing would give back what it holds.
        if (isClosed) throw overloaded();
        held += characters;
        heldByAll += characters;
        if (held > ANSWER_CHARACTERS_MAX) throw tooLarge();
        // One alone is never refused for the others' sake.
        if (heldByAll > ALL_CHARACTERS_MAX && held !== heldByAll) throw overloaded();
      };
      const close = () => {
        heldByAll -= held;
        isClosed = true;
      };
      const lists: BoundedLists = {
        async read(name, { input, teamId }, read) {
          const operation = paged.get(name);
          const asked = operation && askedPage(operation, inputOf(input));
          if (asked === undefined) return await read(input);
          const known = { list: `${name} ${teamId}`, sizes };
          return await wholeList((readPart) => listParts(readPart, asked, known), { input, hold }, read);
        },
      };
      return { lists, close };
    },
  };
}

const ANSWER_CHARACTERS_MAX = 16 * 1024 * 1024;
/** The heap of `npm start` is 192 MB, and what is held is there as objects and as text. */
const ALL_CHARACTERS_MAX = 24 * 1024 * 1024;

const tooLarge = () =>
  new DomainError(
    "answer.too_large",
    "The list exceeds 16 MB. Ask for less with `take` and `skip`, or by REST, which has no limit.",
  );
const overloaded = () =>
  new DomainError("request.overloaded", "Too many large answers are being made at once. Try again in a second.", {
    retryAfterSeconds: 1,
  });

/** A list as one result. Its parts are counted as they are read. */
async function wholeList<R extends { readonly ok: boolean }>(
  partsOf: (read: ReadPart) => AsyncIterable<ListPart>,
  { input, hold }: { readonly input: unknown; readonly hold: (characters: number) => void },
  read: (input: unknown) => Promise<R>,
): Promise<R> {
  let result: R | undefined;
  const readPart: ReadPart = async (page) => {
    result = await read({ ...inputOf(input), ...page });
    if (!("data" in result)) throw new PartFailed();
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
    return result as R; // It says why.
  }
  return { ...(result as R), data };
}

const inputOf = (input: unknown) => (input ?? {}) as Readonly<Record<string, unknown>>;

class PartFailed extends Error {}
