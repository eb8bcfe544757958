import { notFound } from "@berth/core";

interface SavedRow {
  readonly id: number;
  readonly uuid: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** The part of a row that its owner sets. */
type FieldsOf<Row extends SavedRow> = Omit<Row, keyof SavedRow>;

/**
 * Keeps rows in memory while many of them change, so that all are saved together: a thousand changes are then a few
 * statements instead of thousands. Other callers must not change the same rows meanwhile.
 * @param nameOf What selects a row besides its uuid.
 */
export function rowBuffer<Row extends SavedRow>(
  stored: readonly Row[],
  { title, nameOf }: { readonly title: string; readonly nameOf: (fields: FieldsOf<Row>) => string },
) {
  const rows = new Map(stored.map((row) => [row.uuid, row]));
  const uuids = new Map(stored.map((row) => [nameOf(row), row.uuid]));
  const changed = new Set<string>();
  const put = (row: Row): Row => {
    rows.set(row.uuid, row);
    uuids.set(nameOf(row), row.uuid);
    changed.add(row.uuid);
    return row;
  };
  return {
    find: (name: string): Row | undefined => rows.get(uuids.get(name) ?? ""),
    insert(uuid: string, fields: FieldsOf<Row>): Row {
      const now = new Date();
      // The number and the times are placeholders until the row is saved. With them the fields are a row.
      return put({ ...fields, id: 0, uuid, created_at: now, updated_at: now } as unknown as Row);
    },
    update(uuid: string, change: Partial<FieldsOf<Row>>): Row | undefined {
      const current = rows.get(uuid);
      return current && put({ ...current, ...change });
    },
    /**
     * Saves what changed.
     * @param results Rows as they were after single changes.
     * @returns These rows, with the number and the times that were saved.
     */
    async flush(
      results: readonly Row[],
      saveAll: (rows: readonly Row[]) => Promise<readonly Row[]>,
    ): Promise<readonly Row[]> {
      const unsaved = [...changed].flatMap((uuid) => rows.get(uuid) ?? []);
      const saved = new Map((await saveAll(unsaved)).map((row) => [row.uuid, row]));
      return results.map((row) => {
        const now = saved.get(row.uuid);
        if (now === undefined) throw notFound(title);
        const { id, created_at, updated_at } = now;
        return { ...row, id, created_at, updated_at };
      });
    },
  };
}
