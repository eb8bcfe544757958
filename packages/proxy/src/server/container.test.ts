import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { expect, it } from "vitest";
import { createOptions } from "./container-options.ts";

it("gives the proxy's container no more than it needs", () => {
  const place = { server: "s1", docker: dockerClient(localHost("s1")), instance: "i1" };
  const mounts = [{ source: "/data/a:b", target: "/run/x", isReadOnly: true }];
  const spec = { type: "CADDY", image: "caddy:2", command: ["caddy", "run"], env: { A: "1" }, mounts } as const;
  expect(
    createOptions(spec, { ...place, labels: { "berth.kind": "other", mine: "1" }, name: "p", version: "v", seat: "b" }),
  ).toEqual({
    name: "p",
    Image: "caddy:2",
    Cmd: ["caddy", "run"],
    Env: ["A=1"],
    Labels: {
      mine: "1",
      "berth.managed": "true",
      "berth.instance": "i1",
      "berth.kind": "proxy",
      "berth.name": "caddy",
      "berth.version": "v",
      "berth.seat": "b",
    },
    StopTimeout: 5,
    HostConfig: {
      NetworkMode: "host",
      RestartPolicy: { Name: "unless-stopped" },
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      CapAdd: ["NET_BIND_SERVICE", "DAC_OVERRIDE"],
      SecurityOpt: ["no-new-privileges"],
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "3" } },
      Mounts: [{ Type: "bind", Source: "/data/a:b", Target: "/run/x", ReadOnly: true }],
    },
  });
});
