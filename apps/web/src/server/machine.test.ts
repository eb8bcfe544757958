import { expect, it } from "vitest";
import { machineRows } from "./machine.ts";

const FOUND = {
  ...{ engine_version: "29.0.1", api_version: "1.52", operating_system: "Debian GNU/Linux 13", architecture: "amd64" },
  ...{ cpus: 2, memory_bytes: 4_100_000_000, disk_total_bytes: 80_000_000_000, disk_free_bytes: 12_300_000_000 },
};

it("names system, engine, size and disk", () => {
  expect(machineRows(FOUND)).toEqual([
    ["System", "Debian GNU/Linux 13, amd64"],
    ["Docker", "29.0.1"],
    ["Size", "2 CPUs, 4.1 GB memory"],
    ["Disk", "12 GB of 80 GB free at the last check"],
  ]);
});

it("leaves out what is not known", () => {
  expect(machineRows(null)).toEqual([]);
  expect(machineRows({ ...FOUND, disk_free_bytes: null, operating_system: "" })).toEqual([
    ["System", "amd64"],
    ["Docker", "29.0.1"],
    ["Size", "2 CPUs, 4.1 GB memory"],
  ]);
});
