import type { Page, Paging } from "@berth/core/ports";

export const mapPage = <From, To>({ items, total }: Page<From>, view: (item: From) => To): Page<To> => ({
  items: items.map(view),
  total,
});

/** A page of a list in memory. */
export const pageOf = <T>(all: readonly T[], { skip = 0, take = all.length }: Paging): Page<T> => ({
  items: all.slice(skip, skip + take),
  total: all.length,
});
