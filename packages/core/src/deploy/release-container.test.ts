import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "../application/application.ts";
import { NO_RUN_OPTIONS } from "../application/run-options.ts";
import { containerOptions } from "./release-container.ts";

const of = (fields: object, pullRequestId = 0, custom_labels: string | null = null) =>
  containerOptions(
    ApplicationSettings.parse({ build_pack: "dockerfile", ...fields }),
    { custom_labels },
    { TOKEN: "t" },
    pullRequestId,
  );

const NO_LIMITS = {
  memorySwapBytes: null,
  memorySwappiness: null,
  memoryReservationBytes: null,
  cpuset: null,
  cpuShares: null,
};

describe("the container of an application", () => {
  test("with settings that nobody touched is an ordinary one", () => {
    expect(of({})).toEqual({
      command: null,
      healthCheck: null,
      isToldPort: true,
      networkAliases: [],
      portMappings: [],
      labels: {},
      run: NO_RUN_OPTIONS,
      limits: NO_LIMITS,
      hasImageHealthCheck: true,
    });
  });

  test.each([
    [{ limits_memory: "512m", limits_memory_swap: "1g" }, { memorySwapBytes: 2 ** 30 }],
    [{ limits_memory: "512m", limits_memory_swap: "-1" }, { memorySwapBytes: -1 }],
    [{ limits_memory_swap: "1g", limits_memory_swappiness: 0 }, {}],
    [{ limits_memory: "512m", limits_memory_swappiness: 0 }, { memorySwappiness: 0 }],
    [{ limits_memory_reservation: "64m" }, { memoryReservationBytes: 64 << 20 }],
    [
      { limits_cpuset: "0-1", limits_cpu_shares: 512 },
      { cpuset: "0-1", cpuShares: 512 },
    ],
    [{ limits_cpuset: "", limits_cpu_shares: 0 }, {}],
  ])("with %j is limited by %j", (fields, limits) => {
    expect(of(fields).limits).toEqual({ ...NO_LIMITS, ...limits });
  });

  test("has the server's ports, names and address for itself, and a preview has none of them", () => {
    const fields = {
      ports_mappings: "8080:80,8443:443",
      custom_network_aliases: "web,www",
      custom_docker_run_options: "--ip 10.0.0.9 --init",
    };
    expect(of(fields)).toMatchObject({
      networkAliases: ["web", "www"],
      portMappings: [
        { serverPort: 8080, containerPort: 80 },
        { serverPort: 8443, containerPort: 443 },
      ],
      run: { ip: "10.0.0.9", hasInit: true },
    });
    expect(of(fields, 7)).toMatchObject({ networkAliases: [], portMappings: [], run: { ip: null, hasInit: true } });
  });

  test("gets the graphics processors of its settings, else those of its options", () => {
    const options = { custom_docker_run_options: "--gpus 2" };
    expect(of(options).run.gpus).toEqual({ count: 2, ids: [] });
    expect(of({ ...options, is_gpu_enabled: true, gpu_device_ids: "0" }).run.gpus).toMatchObject({ ids: ["0"] });
  });

  test("keeps labels byte for byte, unless variables are asked for", () => {
    expect(of({}, 0, "a=$TOKEN").labels).toEqual({ a: "$TOKEN" });
    expect(of({ is_container_label_escape_enabled: false }, 0, "a=$TOKEN").labels).toEqual({ a: "t" });
  });

  test("does not run the image's HEALTHCHECK beside the application's own check", () => {
    expect(of({ health_check_enabled: true }).hasImageHealthCheck).toBe(false);
  });
});
