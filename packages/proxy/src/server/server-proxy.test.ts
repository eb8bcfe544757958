import { PROXY_TYPES } from "@berth/core/ports";
import { countsAnswers } from "@berth/core/server";
import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { expect, test } from "vitest";
import { serverProxy } from "./server-proxy.ts";

test.each(PROXY_TYPES)("%s counts requests where an application may be scaled by them", (proxy_type) => {
  const host = localHost("here");
  const options = {
    host,
    docker: dockerClient(host),
    instance: "a",
    folder: "/tmp",
    tls: { issuer: "internal" },
  } as const;
  expect(serverProxy(proxy_type, options).capabilities.answerCounts).toBe(countsAnswers({ proxy_type }));
});
