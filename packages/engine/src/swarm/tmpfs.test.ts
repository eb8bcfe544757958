import { expect, test } from "vitest";
import { tmpfsMount } from "./tmpfs.ts";

test.each([
  ["", {}],
  ["rw,noexec,nosuid", {}],
  ["size=65536", { TmpfsOptions: { SizeBytes: 65_536 } }],
  ["rw,size=64m", { TmpfsOptions: { SizeBytes: 64 << 20 } }],
  ["size=1g,mode=0750", { TmpfsOptions: { SizeBytes: 1 << 30, Mode: 0o750 } }],
  ["ro", { ReadOnly: true }],
])("the options %j become those of Swarm", (options, expected) => {
  expect(tmpfsMount("/run", options)).toEqual(expected);
});

test.each(["size=50%", "size=", "mode=rwx", "uid=1000", "exec", "nr_inodes=10,size=1m"])(
  "%j is refused, since it would be lost",
  (options) => {
    expect(() => tmpfsMount("/run", options)).toThrow(/^Docker Swarm does not support .* for the tmpfs \/run\./);
  },
);
