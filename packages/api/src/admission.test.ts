import { isDomainError } from "@berth/core";
import type { Authenticator } from "@berth/core/ports";
import { expect, test } from "vitest";
import { admission } from "./admission.ts";

const knowingNobody: Authenticator = { findToken: async () => undefined, touchToken: () => undefined };

test("looks an open call's caller up again although their address is over its limit", async () => {
  const now = () => new Date("2026-01-01T00:00:00Z");
  const { identify } = admission({ authenticator: knowingNobody, requestsPerMinute: 1, now });
  const caller = { authorization: "Bearer 1|revoked", session: undefined, ip: "192.0.2.1", setHeader: () => undefined };
  const request = () => identify({ ...caller, calls: 1 });
  await request();
  await expect(request()).rejects.toSatisfy((error) => isDomainError(error, "rate.limited"));
  expect(await identify({ ...caller, calls: 0 })).toBeUndefined();
});
