import { readRunOptions } from "@berth/core/application";
import { LABELS } from "@berth/docker-client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createOptions, NO_CONTAINER_OPTIONS } from "./container.ts";
import { specOf } from "./docker.fixture.ts";

const PLACE = { instance: "one", network: "net", image: "app:1" };
const IMAGE = { type: "image", image: "app:1" } as const;
const of = (change: Parameters<typeof specOf>[1]) => createOptions(specOf(IMAGE, change), PLACE);
const host = (change: Parameters<typeof specOf>[1]) => of(change).HostConfig;

describe("the container that the engine is asked for", () => {
  test("names the container, its image, its network and whose it is", () => {
    const options = of({ resourceUuid: "r1", deploymentUuid: "d1", name: "My app" });
    expect(options).toMatchObject({
      name: "r1-d1",
      Image: "app:1",
      Labels: {
        "berth.managed": "true",
        "berth.instance": "one",
        "berth.resource": "r1",
        "berth.deployment": "d1",
        "berth.kind": "application",
        "berth.name": "My app",
        "berth.port": "3000",
      },
      HostConfig: { NetworkMode: "net", Init: true, RestartPolicy: { Name: "unless-stopped" } },
    });
  });

  test("holds every variable byte for byte, and the port unless the user sets it", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z_]\w{0,20}$/), fc.string(), (name, value) => {
        expect(of({ env: { [name]: value } }).Env).toContain(`${name}=${value}`);
      }),
    );
    expect(of({}).Env).toEqual(expect.arrayContaining(["PORT=3000", "HOST=0.0.0.0"]));
    expect(of({ env: { PORT: "8080" } }).Env).toContain("PORT=8080");
    expect(of({ ports: [] }).Env?.filter((entry) => entry.startsWith("PORT="))).toEqual([]);
  });

  test("lets no label of a user stand for one of Berth's own", () => {
    const labels = { "berth.instance": "other", "berth.managed": "false", mine: "$x" };
    expect(of({ container: { ...NO_CONTAINER_OPTIONS, labels } }).Labels).toMatchObject({
      "berth.instance": "one",
      "berth.managed": "true",
      mine: "$x",
    });
  });

  test("leaves none of Berth's own labels to the image", () => {
    const made = of({ ports: [] }).Labels ?? {};
    for (const name of Object.values(LABELS)) expect(made).toHaveProperty([name]);
    expect([made[LABELS.port], made[LABELS.container], made[LABELS.lastingName]]).toEqual(["", "", ""]);
  });

  test("starts its image as that says, unless the kind of resource says otherwise", () => {
    const check = { intervalSeconds: 15, timeoutSeconds: 5, retries: 3, startPeriodSeconds: 2 };
    const healthCheck = { argv: ["redis-cli", "ping"] as const, ...check };
    const container = { ...NO_CONTAINER_OPTIONS, command: ["redis-server", "/etc/r.conf"], isToldPort: false } as const;
    expect(of({})).not.toHaveProperty("Cmd");
    expect(of({})).not.toHaveProperty("Healthcheck");
    const made = of({ kind: "database", container: { ...container, healthCheck } });
    expect(made).toMatchObject({ Cmd: ["redis-server", "/etc/r.conf"], Labels: { "berth.kind": "database" } });
    expect(made.Env?.filter((entry) => /^(PORT|HOST)=/.test(entry))).toEqual([]);
    const times = { Interval: 15e9, Timeout: 5e9, StartPeriod: 2e9, StartInterval: 1e9 };
    expect(made.Healthcheck).toEqual({ Test: ["CMD", "redis-cli", "ping"], Retries: 3, ...times });
    const atOnce = { ...healthCheck, startPeriodSeconds: 0 };
    expect(of({ container: { ...container, healthCheck: atOnce } }).Healthcheck).not.toHaveProperty("StartInterval");
  });

  test("publishes ports only where it is asked to", () => {
    expect(host({})?.PortBindings).toEqual({});
    const portMappings = [
      { serverPort: 8080, containerPort: 80 },
      { serverPort: 8081, containerPort: 80 },
    ];
    expect(host({ container: { ...NO_CONTAINER_OPTIONS, portMappings } })?.PortBindings).toEqual({
      "80/tcp": [{ HostPort: "8080" }, { HostPort: "8081" }],
    });
  });

  test("mounts volumes by the storage's uuid and folders by their path, whatever they are called", () => {
    const mounts = host({
      storages: [
        { type: "volume", uuid: "s1", name: "../../etc", mountPath: "/data" },
        { type: "folder", uuid: "s2", name: "x", mountPath: "/conf", hostPath: "/srv/a:b,ro", isReadOnly: true },
        { type: "file", uuid: "s3", name: "y", mountPath: "/app/x", content: "secret" },
      ],
    })?.Mounts;
    expect(mounts).toEqual([
      { Type: "volume", Source: "berth-s1", Target: "/data", ReadOnly: false },
      { Type: "bind", Source: "/srv/a:b,ro", Target: "/conf", ReadOnly: true },
    ]);
  });

  test("limits what it is asked to", () => {
    const limits = {
      memorySwapBytes: -1,
      memorySwappiness: 10,
      memoryReservationBytes: 1 << 20,
      cpuset: "0",
      cpuShares: 512,
    };
    const options = host({
      limits: { memoryBytes: 1 << 30, cpus: 0.5 },
      container: { ...NO_CONTAINER_OPTIONS, limits },
    });
    expect(options).toMatchObject({
      Memory: 1 << 30,
      MemorySwap: -1,
      MemorySwappiness: 10,
      MemoryReservation: 1 << 20,
      NanoCpus: 500_000_000,
      CpusetCpus: "0",
      CpuShares: 512,
    });
  });

  test("carries every run option", () => {
    const text =
      "--cap-add NET_ADMIN --cap-drop ALL --security-opt no-new-privileges --sysctl net.core.somaxconn=9 --ulimit nofile=1:2 --device /dev/fuse --gpus all --shm-size 1m --tmpfs /run --add-host a:1.2.3.4 --dns 1.1.1.1 --group-add audio --init=false --read-only --hostname h --user 1 --workdir /w --entrypoint /e --stop-signal SIGINT --pids-limit 9 --ip 10.0.0.2";
    const { options: run, problems } = readRunOptions(text);
    expect(problems).toEqual([]);
    expect(of({ container: { ...NO_CONTAINER_OPTIONS, run } })).toMatchObject({
      Hostname: "h",
      User: "1",
      WorkingDir: "/w",
      Entrypoint: ["/e"],
      StopSignal: "SIGINT",
      HostConfig: {
        CapAdd: ["NET_ADMIN"],
        CapDrop: ["ALL"],
        SecurityOpt: ["no-new-privileges"],
        Sysctls: { "net.core.somaxconn": "9" },
        Ulimits: [{ Name: "nofile", Soft: 1, Hard: 2 }],
        Devices: [{ PathOnHost: "/dev/fuse", PathInContainer: "/dev/fuse", CgroupPermissions: "rwm" }],
        DeviceRequests: [{ Count: -1, Capabilities: [["gpu"]] }],
        ShmSize: 1 << 20,
        Tmpfs: { "/run": "" },
        ExtraHosts: ["a:1.2.3.4"],
        Dns: ["1.1.1.1"],
        GroupAdd: ["audio"],
        Init: false,
        ReadonlyRootfs: true,
        Privileged: false,
        PidsLimit: 9,
      },
      NetworkingConfig: { EndpointsConfig: { net: { IPAMConfig: { IPv4Address: "10.0.0.2" } } } },
    });
  });

  test("has the same fingerprint for the same spec, and another one for any change", () => {
    const ref = { resourceUuid: "r", deploymentUuid: "d" };
    const print = (change: object) => of({ ...ref, ...change }).Labels?.[LABELS.spec];
    expect(print({})).toBe(print({}));
    expect(print({ env: { A: "1" } })).not.toBe(print({}));
    expect(print({ ports: [80] })).not.toBe(print({}));
  });
});
