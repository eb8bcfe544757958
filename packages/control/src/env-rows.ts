import type { EnvFields, EnvRecord, ResourceRecord, Stores } from "@berth/core/ports";
import { openLoopbackPorts } from "./loopback-port.ts";
import { rowBuffer } from "./row-buffer.ts";

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

/** Keeps the variables with these keys in memory until `flush`. The owner must be locked. */
export async function bufferedEnvs(tx: Stores, owner: ResourceRecord, keys: readonly string[]): Promise<EnvRows> {
  const rows = rowBuffer(await tx.envs.withKeys(owner.id, keys), { title: "Environment variable", nameOf });
  const values: (string | null | undefined)[] = [];
  return {
    find: async (key, is_preview) => rows.find(nameOf({ key, is_preview })),
    async insert(uuid, fields) {
      values.push(fields.value);
      return rows.insert(uuid, fields);
    },
    async update(uuid, change) {
      values.push(change.value);
      return rows.update(uuid, change);
    },
    async flush(changed) {
      const saved = await rows.flush(changed, (all) => tx.envs.saveAll(owner.id, all));
      await openLoopbackPorts(tx, owner, values);
      return saved;
    },
  };
}

const nameOf = ({ key, is_preview }: Pick<EnvRecord, "key" | "is_preview">): string => `${key} ${is_preview}`;
