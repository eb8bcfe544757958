import type { ContainerOptions, ReleaseSpec } from "@berth/core/deploy";
import type { ContainerTaskSpec } from "dockerode";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_CONTAINER_OPTIONS } from "../docker/container.ts";
import { literal, serviceName, serviceSpec } from "./service-spec.ts";

const spec = (change: Partial<ReleaseSpec> = {}): ReleaseSpec => ({
  ...{ resourceUuid: "resource", deploymentUuid: "deployment", resourceNumber: 1, kind: "application", name: "shop" },
  ...{ artifact: { type: "image", image: "berth/x:y" }, env: {}, ports: [3000], storages: [] },
  ...{ limits: { memoryBytes: null, cpus: null } },
  ...change,
});
const place = { instance: "me", network: "berth", imageId: "sha256:1", constraints: ["node.role==worker"], run: 1 };
const made = (change: Partial<ReleaseSpec> = {}) => serviceSpec(spec(change), place);
const taskOf = (change: Partial<ReleaseSpec> = {}) => made(change).TaskTemplate as ContainerTaskSpec;
const container = (change: Partial<ContainerOptions>): Partial<ReleaseSpec> => ({
  container: { ...NO_CONTAINER_OPTIONS, ...change },
});
const run = (change: Partial<ContainerOptions["run"]>) =>
  container({ run: { ...NO_CONTAINER_OPTIONS.run, ...change } });

describe("a service", () => {
  test("is made of the image by its id, without a virtual address, and never replaced in place", () => {
    expect(made({ replicas: 3 })).toMatchObject({
      Name: "berth-deployment",
      Mode: { Replicated: { Replicas: 3 } },
      EndpointSpec: { Mode: "dnsrr" },
      UpdateConfig: { Order: "stop-first", FailureAction: "continue" },
      TaskTemplate: { ContainerSpec: { Image: "sha256:1" }, Placement: { Constraints: ["node.role==worker"] } },
    });
  });

  test("has containers that no engine of a node takes for its own releases", () => {
    const { Labels: labels } = taskOf().ContainerSpec ?? {};
    expect(labels).toMatchObject({ "berth.role": "task", "berth.deployment": "deployment", "berth.run": "1" });
    expect(made().Labels).toMatchObject({ "berth.role": "release", "berth.run": "1" });
  });

  test("has limits, a reserve, hosts and folders in memory", () => {
    const task = taskOf({
      limits: { memoryBytes: 64 << 20, cpus: 0.5 },
      ...container({
        limits: { ...NO_CONTAINER_OPTIONS.limits, memoryReservationBytes: 32 << 20 },
        run: {
          ...NO_CONTAINER_OPTIONS.run,
          extraHosts: ["db:10.0.0.1", "six:fd00::1"],
          tmpfs: { "/tmp": "rw,size=1048576,mode=1777" },
          shmBytes: 1 << 20,
          processesMax: 50,
        },
      }),
    });
    expect(task).toMatchObject({
      Resources: {
        Limits: { MemoryBytes: 64 << 20, NanoCPUs: 500_000_000, Pids: 50 },
        Reservations: { MemoryBytes: 32 << 20 },
      },
      ContainerSpec: {
        Hosts: ["10.0.0.1 db", "fd00::1 six"],
        Mounts: [
          { Type: "tmpfs", Target: "/tmp", TmpfsOptions: { SizeBytes: 1048576 } },
          { Type: "tmpfs", Target: "/dev/shm", TmpfsOptions: { SizeBytes: 1 << 20 } },
        ],
      },
    });
  });

  test("answers to its lasting name and its aliases in its network", () => {
    const { Networks: networks } = taskOf({ containerName: "shopdb", ...container({ networkAliases: ["db"] }) });
    expect(networks).toEqual([{ Target: "berth", Aliases: ["db", "shopdb"] }]);
  });

  test.each<[string, Partial<ReleaseSpec>]>([
    ["privileged containers", run({ isPrivileged: true })],
    ["devices", run({ devices: [{ hostPath: "/dev/a", containerPath: "/dev/a", permissions: "r" }] })],
    ["GPUs by option", run({ gpus: { count: "all", ids: [] } })],
    ["security options", run({ securityOpt: ["no-new-privileges"] })],
    ["a fixed address", run({ ip: "10.0.0.9" })],
    ["CPU shares", container({ limits: { ...NO_CONTAINER_OPTIONS.limits, cpuShares: 512 } })],
    ["limits of swap", container({ limits: { ...NO_CONTAINER_OPTIONS.limits, memorySwapBytes: -1 } })],
    ["chosen processors (cpuset)", container({ limits: { ...NO_CONTAINER_OPTIONS.limits, cpuset: "0" } })],
  ])("refuses %s, which it would lack", (what, change) => {
    expect(() => made(change)).toThrow(`Docker Swarm does not support ${what}.`);
  });

  test("is never found unhealthy by the swarm where Berth checks it", () => {
    const times = { intervalSeconds: 1, timeoutSeconds: 1, retries: 3, startPeriodSeconds: 0 };
    const checked = taskOf(container({ healthCheck: { argv: ["pg_isready"], ...times } })).ContainerSpec?.HealthCheck;
    expect(checked).toMatchObject({ Test: ["CMD", "pg_isready"], Retries: 1_000_000 });
    expect(taskOf(container({ hasImageHealthCheck: false })).ContainerSpec?.HealthCheck).toEqual({ Test: ["NONE"] });
    expect(taskOf().ContainerSpec?.HealthCheck).toBeUndefined();
  });
});

test("no value opens a template", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("{", "{{", "}", "}}", `"`, ".", "x")), (pieces) => {
      const value = pieces.join("");
      const kept = literal(value);
      // What a template engine would make of it: each action that is left is a quoted pair of braces.
      expect(kept.replaceAll(`{{"{{"}}`, "\u0000")).not.toContain("{{");
      expect(kept.replaceAll(`{{"{{"}}`, "{{")).toBe(value);
    }),
  );
});

test("a name is a DNS label, however long the uuid is", () => {
  expect(serviceName("x".repeat(100))).toHaveLength(63);
});
