import { expect, test } from "vitest";
import { notRunning } from "./logs.ts";

const UUID = "u".repeat(24);

test.each([
  [undefined, "It was never deployed. See: berth deploy --help"],
  ["finished", "Start it with: berth start shop"],
  ["failed", `Its last deployment failed. Its log: berth logs --deployment ${UUID}`],
  ["cancelled-by-user", `Its last deployment was cancelled. Its log: berth logs --deployment ${UUID}`],
  ["queued", `Its last deployment has not ended. Its log: berth logs --deployment ${UUID} -f`],
  ["in_progress", `Its last deployment has not ended. Its log: berth logs --deployment ${UUID} -f`],
] as const)("an application that does not run, whose last deployment is %s, says where to look", (status, detail) => {
  const { message, details } = notRunning("shop", status && { deployment_uuid: UUID, status });
  expect([message, details]).toEqual(["shop is not running.", [detail]]);
});
