import { notFound } from "@berth/core";
import type { EnvFields, EnvRecord, ResourceRecord, Stores } from "@berth/core/ports";
import { openLoopbackPorts } from "./loopback-port.ts";

/** Reads and writes the variables of one resource, with the loopback ports that their values need. */
export interface EnvRows {
  find(key: string, isPreview: boolean): Promise<EnvRecord | undefined>;
  insert(uuid: string, fields: EnvFields): Promise<EnvRecord>;
  update(uuid: string, change: Partial<EnvFields>): Promise<EnvRecord | undefined>;
  /** Saves changes that are still in memory. @returns The rows as they were after each change, with what was saved. */
  flush(changed: readonly EnvRecord[]): Promise<readonly EnvRecord[]>;
}

export const storedEnvs = (stores: Stores, owner: ResourceRecord): EnvRows => ({
  find: (key, isPreview) => stores.envs.findByKey(owner.id, key, isPreview),
  async insert(uuid, fields) {
    const made = await stores.envs.insert(owner.id, uuid, fields);
    await openLoopbackPorts(stores, owner, [fields.value]);
    return made;
  },
  async update(uuid, change) {
    const changed = await stores.envs.update(owner.id, uuid, change);
    await openLoopbackPorts(stores, owner, [change.value]);
    return changed;
  },
  flush: async (changed) => changed,
});

/**
 * Keeps the variables with these keys in memory until `flush`: a thousand changes are then a few statements instead of
 * some four thousand. The owner must be locked.
 */
export async function bufferedEnvs(tx: Stores, owner: ResourceRecord, keys: readonly string[]): Promise<EnvRows> {
  const rows = new Map((await tx.envs.withKeys(owner.id, keys)).map((row) => [nameOf(row), row]));
  const names = new Map([...rows].map(([name, { uuid }]) => [uuid, name]));
  const changedNames = new Set<string>();
  const values: (string | null | undefined)[] = [];
  const put = (row: EnvRecord): EnvRecord => {
    const name = nameOf(row);
    rows.set(name, row);
    names.set(row.uuid, name);
    changedNames.add(name);
    return row;
  };
  return {
    find: async (key, is_preview) => rows.get(nameOf({ key, is_preview })),
    async insert(uuid, fields) {
      values.push(fields.value);
      const now = new Date();
      return put({ ...fields, id: 0, uuid, created_at: now, updated_at: now });
    },
    async update(uuid, change) {
      values.push(change.value);
      const current = rows.get(names.get(uuid) ?? "");
      return current && put({ ...current, ...change });
    },
    async flush(changed) {
      const unsaved = [...changedNames].flatMap((name) => rows.get(name) ?? []);
      const saved = new Map((await tx.envs.saveAll(owner.id, unsaved)).map((row) => [row.uuid, row]));
      await openLoopbackPorts(tx, owner, values);
      return changed.map((row) => {
        const { id, created_at, updated_at } = saved.get(row.uuid) ?? raise();
        return { ...row, id, created_at, updated_at };
      });
    },
  };
}

const nameOf = ({ key, is_preview }: Pick<EnvRecord, "key" | "is_preview">): string => `${key} ${is_preview}`;

const raise = (): never => {
  throw notFound("Environment variable");
};
