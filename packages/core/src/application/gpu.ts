import { z } from "zod";
import type { Gpus } from "../deploy/container.ts";

/** GPUs of an application's container. */
export const GPU_SETTINGS = {
  is_gpu_enabled: z.boolean().default(false).describe("Give its container GPUs. Only on servers with Docker."),
  gpu_driver: z
    .string()
    .regex(/^[\w.-]{1,64}$/, "Must be the name of a driver, such as nvidia.")
    .default("nvidia"),
  gpu_count: z
    .string()
    .regex(/^(all|[1-9]\d?)$/, "Must be a number or all.")
    .nullable()
    .default(null)
    .describe("Number of GPUs; default all."),
  gpu_device_ids: z
    .string()
    .max(1000)
    .regex(/^[\w-]{1,64}(,[\w-]{1,64})*$/, "Must be identifiers separated by commas.")
    .nullable()
    .default(null)
    .describe("Identifiers of the GPUs, instead of a number: `0,GPU-1a`."),
  gpu_options: z
    .string()
    .max(1000)
    .regex(/^[\w.-]+=[^,\s]*(,[\w.-]+=[^,\s]*)*$/, "Must be NAME=VALUE pairs separated by commas.")
    .nullable()
    .default(null)
    .describe("Options of the driver: `NAME=VALUE` pairs separated by commas."),
};

const GpuSettings = z.object(GPU_SETTINGS);
type GpuSettings = z.infer<typeof GpuSettings>;

/** `null`: the settings ask for no GPU. */
export function gpusOf(settings: GpuSettings): Gpus | null {
  const { is_gpu_enabled, gpu_driver, gpu_count, gpu_device_ids, gpu_options } = settings;
  if (!is_gpu_enabled) return null;
  const ids = gpu_device_ids?.split(",") ?? [];
  const isAll = gpu_count === null || gpu_count === "all";
  const options = (gpu_options?.split(",") ?? []).map((pair) => [
    pair.slice(0, pair.indexOf("=")),
    pair.slice(pair.indexOf("=") + 1),
  ]);
  return {
    driver: gpu_driver,
    count: ids.length > 0 ? 0 : isAll ? "all" : Number(gpu_count),
    ids,
    options: Object.fromEntries(options),
  };
}
