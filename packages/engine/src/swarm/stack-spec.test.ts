import { parseWrittenCompose } from "@berth/core/compose";
import { LABELS } from "@berth/docker-client";
import type { ContainerInspectInfo } from "dockerode";
import { describe, expect, test } from "vitest";
import { planStack } from "../docker/compose/document.ts";
import { stackSpec } from "../docker/compose/stack.fixture.ts";
import { overlayName } from "./stack.ts";
import { draftDocument } from "./stack-draft.ts";
import { memberSpec, prompt } from "./stack-spec.ts";

const ref = { resourceUuid: "r", deploymentUuid: "d" };
const place = {
  ...{ instance: "i", imageId: "sha256:abc", run: 1, constraints: ["node.role==worker"], scope: "net-1" },
  networks: [{ name: "net-1", aliases: ["web"] }],
};
const labels = { [LABELS.container]: "web", [LABELS.order]: "2", [LABELS.spec]: "f" };

const memberOf = (service: object = {}, config: object = {}, host: object = {}) => {
  const draft = {
    Config: { Labels: { ...labels, "com.docker.compose.project": "p" }, Env: ["A={{.Node.ID}}"], ...config },
    HostConfig: { Memory: 0, NanoCpus: 0, MemoryReservation: 0, ...host },
  };
  const said = { labels, ...service };
  const { Name, Labels, TaskTemplate, Mode } = memberSpec(ref, draft as unknown as ContainerInspectInfo, said, place);
  const { ContainerSpec, ...task } = TaskTemplate as {
    readonly ContainerSpec: Readonly<Record<string, unknown>> & { readonly Labels: Readonly<Record<string, string>> };
    readonly Resources: object;
    readonly RestartPolicy: object;
    readonly Networks: object;
  };
  return { Name, Labels, Mode, container: ContainerSpec, task };
};

describe("the service of a container of a compose file", () => {
  test("is named by its position, runs the image by its id, and says its container", () => {
    const { Name, Labels, container, task, Mode } = memberOf({ scale: 3 }, { Entrypoint: ["/a"], Cmd: ["b"] });
    expect(Name).toBe("berth-d-2");
    expect(Labels).toMatchObject({ [LABELS.container]: "web", [LABELS.order]: "2", [LABELS.spec]: "f" });
    expect(container).toMatchObject({ Image: "sha256:abc", Command: ["/a"], Args: ["b"], Init: false });
    expect(container.Env).toEqual([`A={{"{{"}}.Node.ID}}`]);
    expect(Mode).toEqual({ Replicated: { Replicas: 3 } });
    expect(task.Networks).toEqual([{ Target: "net-1", Aliases: ["web"] }]);
  });

  test("has none of the tool's labels but what it depends on, so that no project of the manager includes it", () => {
    const { container } = memberOf({ depends_on: { db: { condition: "service_healthy" }, cache: {} } });
    const own = Object.entries(container.Labels).filter(([name]) => name.startsWith("com.docker.compose"));
    expect(own).toEqual([["com.docker.compose.depends_on", "db,cache"]]);
    expect(container.Labels[LABELS.scope]).toBe("net-1");
    expect(container.Labels[LABELS.role]).toBe("task");
  });

  test.each<[object, object]>([
    [{}, { Condition: "none" }],
    [{ RestartPolicy: { Name: "no" } }, { Condition: "none" }],
    [{ RestartPolicy: { Name: "always" } }, { Condition: "any" }],
    [{ RestartPolicy: { Name: "unless-stopped" } }, { Condition: "any" }],
    [{ RestartPolicy: { Name: "on-failure", MaximumRetryCount: 4 } }, { Condition: "on-failure", MaxAttempts: 4 }],
  ])("restarts as %j says", (host, wanted) => {
    expect(memberOf({}, {}, host).task.RestartPolicy).toMatchObject(wanted);
  });

  test("has the limits and reservations of the file, and none where it names none", () => {
    const reserved = { deploy: { resources: { reservations: { cpus: "0.25" } } } };
    const limits = { Memory: 64, NanoCpus: 5, MemoryReservation: 8, PidsLimit: 100 };
    expect(memberOf(reserved, {}, limits).task.Resources).toEqual({
      Limits: { MemoryBytes: 64, NanoCPUs: 5, Pids: 100 },
      Reservations: { MemoryBytes: 8, NanoCPUs: 250_000_000 },
    });
    expect(memberOf().task.Resources).toEqual({ Limits: {}, Reservations: {} });
  });

  test("mounts its volumes, also anonymous ones and memory", () => {
    const volumes = [
      { type: "volume", source: "berth-x", target: "/x", read_only: true },
      "/anonymous",
      { type: "tmpfs", target: "/t", tmpfs: { size: 10 } },
    ];
    expect(memberOf({ volumes }).container.Mounts).toEqual([
      { Type: "volume", Source: "berth-x", Target: "/x", ReadOnly: true },
      { Type: "volume", Source: "", Target: "/anonymous", ReadOnly: undefined },
      { Type: "tmpfs", Source: "", Target: "/t", ReadOnly: false, TmpfsOptions: { SizeBytes: 10, Mode: 0o1777 } },
    ]);
  });

  test("stops with the file's own grace time", () => {
    expect(memberOf({}, { StopTimeout: 3 }).container.StopGracePeriod).toBe(3e9);
    expect(memberOf().container.StopGracePeriod).toBe(10e9);
  });
});

test.each<[object, object]>([
  [{ Test: ["CMD", "a"] }, { Interval: 5e9, Retries: 18 }],
  [
    { Test: ["CMD", "a"], Interval: 2e9, Retries: 4 },
    { Interval: 2e9, Retries: 4 },
  ],
  [
    { Test: ["CMD", "a"], Interval: 600e9, Retries: 1 },
    { Interval: 5e9, Retries: 120 },
  ],
  [{ Test: ["NONE"] }, { Test: ["NONE"] }],
])("a check of %j is asked soon, and may fail for as long as the file says", (check, wanted) => {
  expect(prompt(check)).toMatchObject(wanted);
});

test("a draft has one container of each service, which joins, mounts and publishes nothing", () => {
  const text = `
services:
  web: { image: a, scale: 2, ports: ["1:1"], volumes: ["d:/d"], networks: [back], depends_on: [none], hostname: h }
  none: { image: a, scale: 0 }
volumes: { d: }
networks: { back: }
`;
  const compose = parseWrittenCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  const spec = stackSpec(text);
  const { services, networks, volumes } = draftDocument(spec, planStack(spec, compose, "i").document);
  expect(Object.keys(services)).toEqual(["web"]);
  expect(services.web).toMatchObject({ network_mode: "none", hostname: "h", labels: { [LABELS.role]: "files" } });
  for (const key of ["ports", "volumes", "networks", "scale", "depends_on"])
    expect(services.web).not.toHaveProperty(key);
  expect([networks, volumes]).toEqual([{}, {}]);
});

test.each(["r", "r_back", "r_a.b", `r_${"x".repeat(80)}`])("the overlay of %s has a name that Swarm takes", (name) => {
  expect(`${overlayName(name)}-0123456789ab`).toMatch(/^[A-Za-z0-9](?:[-_]*[A-Za-z0-9]+)*$/);
  expect(`${overlayName(name)}-0123456789ab`.length).toBeLessThanOrEqual(63);
  expect(overlayName(name)).not.toBe(overlayName(`${name}x`));
});
