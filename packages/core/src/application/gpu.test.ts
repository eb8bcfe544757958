import { describe, expect, test } from "vitest";
import { z } from "zod";
import { GPU_SETTINGS, gpusOf } from "./gpu.ts";

const Settings = z.object(GPU_SETTINGS);
const read = (settings: object) => gpusOf(Settings.parse({ is_gpu_enabled: true, ...settings }));

describe("graphics processors", () => {
  test("are none unless they are asked for", () => {
    expect(gpusOf(Settings.parse({ gpu_count: "2", gpu_device_ids: "0" }))).toBeNull();
  });

  test.each([
    [{}, { driver: "nvidia", count: "all", ids: [], options: {} }],
    [{ gpu_count: "all" }, { count: "all", ids: [] }],
    [{ gpu_count: "2" }, { count: 2, ids: [] }],
    [
      { gpu_count: "2", gpu_device_ids: "0,GPU-1a" },
      { count: 0, ids: ["0", "GPU-1a"] },
    ],
    [
      { gpu_driver: "amd", gpu_options: "virtualization=false,a=b=c" },
      { driver: "amd", options: { virtualization: "false", a: "b=c" } },
    ],
  ])("that %j asks for are %j", (settings, expected) => {
    expect(read(settings)).toMatchObject(expected);
  });

  test.each([
    [{ gpu_count: "0" }],
    [{ gpu_count: "some" }],
    [{ gpu_device_ids: "0, 1" }],
    [{ gpu_device_ids: "" }],
    [{ gpu_driver: "a b" }],
    [{ gpu_options: "virtualization" }],
  ])("are not asked for by %j", (settings) => {
    expect(Settings.safeParse(settings).success).toBe(false);
  });
});
