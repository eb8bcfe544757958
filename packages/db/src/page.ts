import type { Page, Paging } from "@berth/core/ports";
import { type RawBuilder, type SelectQueryBuilder, type StringReference, sql } from "kysely";
import type { DB } from "./schema.ts";

/** Offset and limit; `undefined` returns all rows. */
export interface Window {
  readonly offset: number;
  readonly limit: number | undefined;
}

/**
 * Reads a page, and the total if it cannot be derived from the page.
 *
 * @param count Must be cheap for any length of the list: a kept total, or rows of a small index.
 */
export async function page<T>(
  { skip = 0, take }: Paging,
  read: (window: Window) => Promise<readonly T[]>,
  count: () => Promise<number>,
): Promise<Page<T>> {
  const items = await read({ offset: skip, limit: take });
  const isLastPage = take === undefined || items.length < take;
  if (isLastPage && (items.length > 0 || skip === 0)) return { items, total: skip + items.length };
  return { items, total: await count() };
}

/** Adds offset and limit to a sorted query. */
export function within<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  { offset, limit }: Window,
): SelectQueryBuilder<DB, TB, O> {
  const limited = limit === undefined ? query : query.limit(limit);
  return offset === 0 ? limited : limited.offset(offset);
}

/**
 * The rows of one owner sorted by id, using the index on both columns.
 *
 * With `owner = x order by id`, PostgreSQL may walk the primary key instead and skip all rows of other owners, if it
 * expects them to be few. A range of one value keeps the owner in the sort order, which only the index on both
 * columns has.
 */
export const ofOwner = <DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  { owner, is, id, direction = "asc" }: OwnedOrder<DB, TB>,
): SelectQueryBuilder<DB, TB, O> =>
  query
    .where(sql<boolean>`${column(owner)} between ${is}::bigint and ${is}::bigint`)
    .orderBy(column(owner), direction)
    .orderBy(column(id), direction);

const column = (reference: string | RawBuilder<unknown>) =>
  typeof reference === "string" ? sql.ref(reference) : reference;

interface OwnedOrder<DB, TB extends keyof DB> {
  readonly owner: StringReference<DB, TB> | RawBuilder<unknown>;
  readonly is: number;
  readonly id: StringReference<DB, TB> | RawBuilder<unknown>;
  readonly direction?: "asc" | "desc";
}

/** Number of matching rows. For short lists; totals of long ones are kept by triggers. */
export async function countRows<Table extends keyof DB>(query: SelectQueryBuilder<DB, Table, object>): Promise<number> {
  const { total } = await query.select(({ fn }) => fn.countAll<number>().as("total")).executeTakeFirstOrThrow();
  return total;
}
