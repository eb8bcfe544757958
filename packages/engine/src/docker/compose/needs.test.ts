import { DomainError } from "@berth/core";
import { expect, test } from "vitest";
import { io } from "../docker.fixture.ts";
import { awaitNeeds } from "./needs.ts";

test("a container that does not exist, as when its node was lost, is not what others wait for", async () => {
  const lost = new DomainError("deploy.start_failed", "Its data is on node node-2, which is down.");
  let looks = 0;
  const containers = async () => {
    looks += 1;
    if (looks > 1) throw lost;
    return [];
  };
  const dockerOf = () => {
    throw new Error("No container has an engine.");
  };
  const needs = [{ name: "db", condition: "service_healthy", isRequired: true }] as const;
  await expect(awaitNeeds({ dockerOf, containers, replicasOf: () => 1 }, needs, io())).rejects.toBe(lost);
});
