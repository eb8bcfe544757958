import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DomainError, isDomainError } from "../errors.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { newStorage, requireDeletable, storageChange } from "./storage.ts";
import { ContainerStorageCreate, normalPath, StorageCreate, StorageUpdate } from "./storage-input.ts";

const EDITABLE = ["name", "mount_path", "host_path", "content", "is_preview_suffix_enabled"];
const DEFINED = ["name", "mount_path", "host_path", "content"] as const;
const PLACE = { resourceUuid: "app1", container: null };

const at = new Date(0);
const record = (fields: Partial<StorageRecord> = {}): StorageRecord => ({
  id: 1,
  uuid: "s1",
  ...newStorage({ type: "persistent", name: "data", mount_path: "/data" }, PLACE),
  has_volume: false,
  created_at: at,
  updated_at: at,
  ...fields,
});
const file = (fields: Partial<StorageRecord> = {}): StorageRecord =>
  record({ ...newStorage({ type: "file", mount_path: "/etc/app.conf", content: "a=1" }, PLACE), ...fields });

/** The refused fields, or the result. */
function tried<T>(work: () => T): T | { readonly refused: readonly string[]; readonly error: DomainError } {
  try {
    return work();
  } catch (error) {
    if (isDomainError(error, "request.invalid")) return { refused: Object.keys(error.fields ?? {}), error };
    throw error;
  }
}
const made = (sent: object) => tried(() => newStorage(StorageCreate.parse(sent), PLACE));

const part = fc.stringMatching(/^[A-Za-z0-9._-]{1,8}$/).filter((text) => text !== "..");
const path = fc
  .array(
    fc.constantFrom(".", "", "a", "b.c").chain((dot) => fc.oneof(fc.constant(dot), part)),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.join("/"));
const mountPath = path.filter((text) => StorageUpdate.shape.mount_path.safeParse(text).success);
const hostPath = fc.oneof(
  fc.constant(null),
  path.map((text) => `/${text}`),
);
const text = fc.oneof(fc.constant(null), fc.string());
const update = fc.record(
  {
    type: fc.constantFrom("persistent" as const, "file" as const),
    name: fc.oneof(fc.constant(null), fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,8}$/)),
    mount_path: mountPath,
    host_path: hostPath,
    content: text,
    is_preview_suffix_enabled: fc.boolean(),
  },
  { requiredKeys: [] },
);
const storage = fc
  .tuple(fc.constantFrom("volume", "bind", "file", "directory"), fc.boolean(), fc.boolean())
  .map(([form, is_managed, is_read_only]) => {
    const flags = { is_managed, is_read_only };
    if (form === "volume") return record(flags);
    if (form === "bind") return record({ ...flags, host_path: "/srv/data" });
    return form === "file" ? file(flags) : file({ ...flags, is_directory: true, fs_path: "/srv", content: null });
  });

describe("a change of a storage", () => {
  test("[S15] [S41] takes the five editable fields, and no other field of a storage", () => {
    const identifier = { uuid: "s1" };
    for (const field of [
      "is_directory",
      "fs_path",
      "container",
      "is_managed",
      "resource_uuid",
      "owner_uuid",
      "chmod",
    ]) {
      const { error } = StorageUpdate.safeParse({ ...identifier, [field]: "x" });
      expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: [field] }]);
    }
    expect(Object.keys(StorageUpdate.shape).sort()).toEqual([...EDITABLE, "id", "type", "uuid"].sort());
  });

  test("[S15] changes only what was sent, and nothing but the editable fields", () => {
    fc.assert(
      fc.property(storage, update, (current, sent) => {
        const change = tried(() => storageChange(current, { uuid: current.uuid, ...sent }));
        if ("refused" in change) return;
        const keys = Object.keys(change);
        expect(EDITABLE).toEqual(expect.arrayContaining(keys));
        expect(Object.keys(sent)).toEqual(expect.arrayContaining(keys));
        const after = { ...current, ...change };
        expect(storageChange(after, { uuid: current.uuid, ...sent })).toEqual(change);
        // Fields of the other type stay empty.
        if (current.type === "file") expect([after.name, after.host_path]).toEqual([null, null]);
        else expect([after.content, after.fs_path]).toEqual([null, null]);
        if (current.is_directory) expect(after.content).toBeNull();
      }),
    );
  });

  test("[S42] of one that its definition manages is only of the previews' suffix", () => {
    const defined = storage.filter(({ is_managed, is_read_only }) => is_managed || is_read_only);
    fc.assert(
      fc.property(defined, update, (current, sent) => {
        const named = DEFINED.filter((field) => sent[field] !== undefined);
        const change = tried(() => storageChange(current, { uuid: current.uuid, ...sent }));
        if (!("refused" in change)) {
          expect(named).toEqual([]);
          expect(DEFINED.some((field) => field in change)).toBe(false);
        } else if (named.length === 0) {
          expect(change.refused).toEqual(["type"]);
        } else {
          expect(change.refused).toEqual(named);
          expect(change.error.details).toEqual({ read_only_fields: named });
        }
      }),
    );
    expect(tried(() => requireDeletable(record({ is_managed: true })))).toMatchObject({ refused: ["_"] });
    expect(tried(() => requireDeletable(file({ is_read_only: true })))).toMatchObject({ refused: ["_"] });
    expect(requireDeletable(file())).toEqual(file());
  });

  test.each([
    [record(), { content: "x" }, ["content"]],
    [file(), { name: "x", host_path: "/srv" }, ["name", "host_path"]],
    [record(), { type: "file" }, ["type"]],
    [record(), { name: null }, ["name"]],
    [file({ is_directory: true, content: null }), { content: "x" }, ["content"]],
  ] as const)("refuses what the storage has not: %#", (current, sent, fields) => {
    expect(tried(() => storageChange(current, { uuid: current.uuid, ...sent }))).toMatchObject({ refused: fields });
  });

  test("keeps a name as it is sent, takes a host path away, and empties a file", () => {
    const bind = record({ host_path: "/srv/data" });
    expect(storageChange(bind, { uuid: "s1", name: "other", host_path: null })).toEqual({
      name: "other",
      host_path: null,
    });
    expect(storageChange(file(), { uuid: "s1", content: null, name: null })).toEqual({ content: "" });
  });

  test.each([{ name: "x" }, {}])("needs to say which storage: %j", (sent) => {
    expect(StorageUpdate.safeParse(sent).error?.issues).toMatchObject([{ path: ["uuid"] }]);
    expect(StorageUpdate.safeParse({ ...sent, id: "7" }).data).toMatchObject({ id: 7 });
  });
});

describe("a path", () => {
  const spaced = fc.array(fc.constantFrom(" ", "/", ".", "..", "a"), { maxLength: 6 }).map((parts) => parts.join(""));

  test("that is taken is absolute, and written in one way", () => {
    fc.assert(
      fc.property(fc.oneof(path, spaced, fc.string()), (sent) => {
        const { data, success } = StorageUpdate.shape.mount_path.safeParse(sent);
        fc.pre(success);
        const normal = normalPath(data ?? "");
        expect(normal).toMatch(/^\/[^/]/);
        expect(normal).not.toMatch(/\/$|\/\/|\/\.{1,2}(\/|$)|[\p{Cc}:]/u);
        expect(normalPath(normal)).toBe(normal);
      }),
    );
  });

  test.each([
    "..",
    "/a/../b",
    "/a/..",
    "../x",
    "/",
    "//",
    ".",
    "/a\0",
    "/a\nb",
    "/data:ro",
    "",
    " /data",
    "/.. ",
    "x".repeat(1025),
  ])("is refused for a mount: %j", (mount_path) => {
    expect(StorageCreate.safeParse({ type: "file", mount_path }).success).toBe(false);
  });

  test.each(["srv", "/srv/../etc", "/a b", "/$(id)", "/srv;id"])("is refused for the server: %j", (host_path) => {
    const sent = { type: "persistent", name: "data", mount_path: "/data", host_path };
    expect(StorageCreate.safeParse(sent).success).toBe(false);
  });
});

describe("a new storage", () => {
  test("that is persistent is named after its resource, and mounted at an absolute path", () => {
    expect(made({ type: "persistent", name: "data", mount_path: "data//x/" })).toEqual({
      type: "persistent",
      name: "app1-data",
      mount_path: "/data/x",
      host_path: null,
      fs_path: null,
      content: null,
      is_directory: false,
      is_preview_suffix_enabled: true,
      container: null,
      is_managed: false,
      is_read_only: false,
    });
  });

  test("that is a file has content, byte for byte, and a directory a folder of the server", () => {
    const content = " a=1\r\n\t🚢 ";
    expect(made({ type: "file", mount_path: "/etc/app.conf", content })).toMatchObject({ content, fs_path: null });
    expect(made({ type: "file", mount_path: "/etc/app.conf" })).toMatchObject({ content: "" });
    expect(made({ type: "file", mount_path: "/d", is_directory: "1", fs_path: "srv/d/" })).toMatchObject({
      is_directory: true,
      fs_path: "/srv/d",
      content: null,
    });
  });

  test.each([
    [{ type: "persistent" }, ["name"]],
    [
      { type: "persistent", name: "d", content: "x", fs_path: "/x", is_directory: true },
      ["content", "fs_path", "is_directory"],
    ],
    [{ type: "file", name: "d", host_path: "/x" }, ["name", "host_path"]],
    [{ type: "file", is_directory: true }, ["fs_path"]],
    [{ type: "file", is_directory: true, fs_path: "/x", content: "x" }, ["content"]],
    [{ type: "file", fs_path: "/x" }, ["fs_path"]],
  ])("refuses fields that do not go together: %j", (sent, fields) => {
    const answer = made({ mount_path: "/data", ...sent });
    expect("refused" in answer && [...answer.refused].sort()).toEqual([...fields].sort());
  });

  test("takes null for what it has not", () => {
    const nothing = { name: null, host_path: null, content: null, fs_path: null };
    expect(made({ ...nothing, type: "file", mount_path: "/a" })).toMatchObject({ content: "" });
    expect(made({ ...nothing, type: "persistent", name: "d", mount_path: "/a" })).toMatchObject({ name: "app1-d" });
  });

  test.each([
    { type: "volume" },
    { name: "-data" },
    { name: "a b" },
    { name: "x".repeat(201) },
    { content: "x".repeat(524_289) },
    { is_managed: true },
    { resource_uuid: "c1" },
  ])("refuses %j", (change) => {
    expect(StorageCreate.safeParse({ type: "persistent", name: "d", mount_path: "/a", ...change }).success).toBe(false);
  });

  test("of a service names its container", () => {
    const sent = { type: "persistent", name: "d", mount_path: "/a" };
    expect(ContainerStorageCreate.safeParse(sent).error?.issues).toMatchObject([{ path: ["resource_uuid"] }]);
    expect(ContainerStorageCreate.safeParse({ ...sent, resource_uuid: "c1" }).success).toBe(true);
  });
});
