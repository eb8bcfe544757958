import { expect, test } from "vitest";
import { loadOf, NodeLoads } from "./node-loads.ts";

const LOAD = "0.52 0.58 0.59 1/389 12345\n";
const MEMORY = "MemTotal:       16384 kB\nMemFree:         1024 kB\nMemAvailable:    4096 kB\n";

test.each([
  [LOAD, MEMORY, { average: 0.52, memoryUsedBytes: 12_288 * 1024 }],
  ["", MEMORY, null],
  [LOAD, "MemTotal: 16384 kB\n", null],
])("the load is what Linux says: %j, %j", (load, memory, expected) => {
  expect(loadOf(load, memory)).toEqual(expected);
});

const machine = (read: (path: string) => Promise<Buffer | undefined>) => {
  const unused = async () => {
    throw new Error("Only files are read.");
  };
  return { id: "n1", host: { files: { read, write: unused, makeFolder: unused, list: unused, remove: unused } } };
};

test("a machine is read once for several looks, and one that does not answer is unknown", async () => {
  const paths: string[] = [];
  const answering = machine(async (path) => {
    paths.push(path);
    return Buffer.from(path === "/proc/loadavg" ? LOAD : MEMORY);
  });
  const loads = new NodeLoads();
  expect(await loads.of(answering)).toEqual({ average: 0.52, memoryUsedBytes: 12_288 * 1024 });
  await loads.of(answering);
  expect(paths).toEqual(["/proc/loadavg", "/proc/meminfo"]);
  expect(await new NodeLoads().of(machine(() => new Promise(() => {})))).toBeNull();
  expect(await new NodeLoads().of(machine(() => Promise.reject(new Error("Gone."))))).toBeNull();
});
