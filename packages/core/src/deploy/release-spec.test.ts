import { describe, expect, test } from "vitest";
import type { StorageRecord } from "../ports/storage.ts";
import { newStorage } from "../storage.ts";
import type { StorageCreate } from "../storage-input.ts";
import { limitsOf, memoryBytes, mountsOf, portsOf } from "./release-spec.ts";

describe("limits and ports", () => {
  test.each<[string, number | null]>([
    ["0", null],
    ["", null],
    ["lots", null],
    ["-1", null],
    ["512", 512],
    ["512b", 512],
    ["1k", 1024],
    ["512m", 512 * 1024 ** 2],
    ["512M", 512 * 1024 ** 2],
    ["1.5g", 1.5 * 1024 ** 3],
    ["2Gi", 2 * 1024 ** 3],
    ["1gb", 1024 ** 3],
    ["1t", 1024 ** 4],
  ])("reads %s as a size", (text, bytes) => {
    expect(memoryBytes(text)).toBe(bytes);
  });

  test.each<[string, number | null]>([
    ["0", null],
    ["0.5", 0.5],
    ["2", 2],
    ["many", null],
  ])("reads %s processors", (text, cpus) => {
    expect(limitsOf({ limits_memory: "0", limits_cpus: text }).cpus).toBe(cpus);
  });

  test("reads the exposed ports in their order", () => {
    expect(portsOf("3000,80", true)).toEqual([3000, 80]);
    expect(portsOf(null, true)).toEqual([3000]);
    expect(portsOf(null, false)).toEqual([]);
  });
});

describe("storages", () => {
  const record = (uuid: string, sent: StorageCreate): StorageRecord => ({
    id: 1,
    uuid,
    ...newStorage(sent, { resourceUuid: "app1", container: null }),
    created_at: new Date(0),
    updated_at: new Date(0),
  });

  test("are mounted as volumes, folders of the server and files, outer ones first", () => {
    const storages = [
      record("s1", { type: "file", mount_path: "/app/data/app.conf", content: "a=1" }),
      record("s2", { type: "file", mount_path: "/app/conf", is_directory: true, fs_path: "/srv/conf" }),
      record("s3", { type: "persistent", name: "disk", mount_path: "/mnt", host_path: "/srv/disk" }),
      record("s4", { type: "persistent", name: "data", mount_path: "/app/data" }),
    ];
    expect(mountsOf("app1", storages)).toEqual([
      { type: "folder", uuid: "s2", name: "app/conf", mountPath: "/app/conf", hostPath: "/srv/conf" },
      { type: "volume", uuid: "s4", name: "data", mountPath: "/app/data" },
      { type: "file", uuid: "s1", name: "app/data/app.conf", mountPath: "/app/data/app.conf", content: "a=1" },
      { type: "folder", uuid: "s3", name: "disk", mountPath: "/mnt", hostPath: "/srv/disk" },
    ]);
  });

  test("keep a name that their owner has given them later", () => {
    const renamed = { ...record("s1", { type: "persistent", name: "data", mount_path: "/data" }), name: "app2-data" };
    expect(mountsOf("app1", [renamed])).toMatchObject([{ name: "app2-data" }]);
  });
});
