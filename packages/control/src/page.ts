import type { Page } from "@berth/core";

export const mapPage = <From, To>({ items, total }: Page<From>, view: (item: From) => To): Page<To> => ({
  items: items.map(view),
  total,
});
