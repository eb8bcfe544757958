import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";
import { readProcesses, readUsage } from "./usage.ts";

const NOTHING = { pids_stats: {}, memory_stats: {}, cpu_stats: { cpu_usage: { total_usage: 0 } } };

/** An engine's answer with only the fields that are read. */
const answer = (stats: object) => stats as Parameters<typeof readUsage>[0];

test("the kernel's accounts are read whatever the version of its cgroups", () => {
  const common = {
    pids_stats: { current: 3 },
    cpu_stats: { cpu_usage: { total_usage: 2_500_000_000 } },
    networks: { eth0: { rx_bytes: 1, tx_bytes: 2 }, eth1: { rx_bytes: 10, tx_bytes: 20 } },
  };
  const first = {
    ...common,
    memory_stats: { usage: 1000, stats: { total_inactive_file: 400, inactive_file: 1 } },
    blkio_stats: {
      io_service_bytes_recursive: [
        { op: "Read", value: 5 },
        { op: "Write", value: 6 },
        { op: "Total", value: 11 },
      ],
    },
  };
  const second = {
    ...common,
    memory_stats: { usage: 1000, stats: { inactive_file: 400 } },
    blkio_stats: {
      io_service_bytes_recursive: [
        { op: "read", value: 5 },
        { op: "write", value: 6 },
      ],
    },
  };
  for (const stats of [first, second]) {
    expect(readUsage(answer(stats))).toEqual({
      processes: 3,
      memoryBytes: 600,
      cpuSeconds: 2.5,
      networkBytes: { in: 11, out: 22 },
      diskBytes: { in: 5, out: 6 },
    });
  }
  for (const stats of [NOTHING, {}, { pids_stats: {} }]) expect(readUsage(answer(stats))).toBeUndefined();
});

test("a table of processes says what they use together", () => {
  const Processes = [
    ["1", "100", "2"],
    ["2", "50", "0"],
  ];
  expect(readProcesses({ Processes })).toEqual({ processes: 2, memoryBytes: 150 * 1024, cpuSeconds: 2 });
  expect(readProcesses({ Processes: null })).toBeUndefined();
});

describeDocker("what a container uses", IMAGES, (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  test("is told in numbers that grow with its work, and not at all when it does not run", async () => {
    const engine = await world.engine();
    const spec = specOf(await world.image());
    const { upstream } = await engine.start(spec, io());
    const url = `http://${upstream?.host}:${upstream?.port}/allocate?bytes=${100 << 20}`;
    await eventually(async () => expect((await fetch(url)).status).toBe(200));
    const before = await engine.usage(spec);
    expect(before?.processes).toBeGreaterThan(1);
    expect(before?.memoryBytes).toBeGreaterThan(30 << 20);
    const burn = `http://${upstream?.host}:${upstream?.port}/allocate?bytes=${200 << 20}`;
    const isGrown = async () => {
      await fetch(burn);
      expect((await engine.usage(spec))?.cpuSeconds).toBeGreaterThan(before?.cpuSeconds ?? 0);
    };
    await eventually(isGrown);
    await engine.stop(spec, { graceSeconds: 1 });
    expect(await engine.usage(spec)).toBeUndefined();
  });
});
