import type { Page, Paging } from "@berth/core/ports";
import { z } from "zod";
import type { RequestContext } from "./trpc.ts";

export const TAKE_MAX = 1000;

const skip = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional().describe("Number of entries to skip. Default 0.");
const take = z.int().min(1).max(TAKE_MAX).optional().describe("Maximum number of entries. All by default.");

/** Input keys of lists; without `take` all items are returned. */
export const paging = { skip, take };

/** Input keys of lists with at most `takeDefault` items by default. */
export const pagingOf = (takeDefault: number) => ({
  skip: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe("Number of entries to skip."),
  take: z.int().min(1).max(TAKE_MAX).default(takeDefault).describe("Maximum number of entries."),
});

/**
 * The items of a page; in REST also the headers `X-Total-Count` and `Link` (RFC 8288).
 *
 * @param asked `skip` and `take` as passed to the store
 */
export function listed<T>(
  { rest }: Pick<RequestContext, "rest">,
  { items, total }: Page<T>,
  asked: Paging,
): readonly T[] {
  if (!rest) return items;
  rest.setHeader("x-total-count", String(total));
  rest.setHeader("link", links(rest.url, total, rest.asked ?? asked));
  return items;
}

function links(url: string, total: number, { skip = 0, take }: Paging): string {
  const [path = "", query = ""] = url.split("?", 2);
  const link = (rel: string, from: number) => {
    const parameters = new URLSearchParams(query);
    parameters.set("skip", String(from));
    if (take !== undefined) parameters.set("take", String(take));
    return `<${path}?${parameters}>; rel="${rel}"`;
  };
  if (take === undefined) return link("first", 0);
  const last = Math.max(0, Math.ceil(total / take) - 1) * take;
  return [
    link("first", 0),
    ...(skip > 0 ? [link("prev", Math.max(0, Math.min(skip - take, last)))] : []),
    ...(skip + take < total ? [link("next", skip + take)] : []),
    link("last", last),
  ].join(", ");
}
