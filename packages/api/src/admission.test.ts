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

test("counts the check of an open call as no use of its token", async () => {
  const touched: number[] = [];
  const token = {
    ...{ id: 7, team_id: 1, user_id: 1, name: "test", kind: "api" as const, abilities: [], role: "owner" as const },
    ...{ expires_at: null, last_used_at: null, created_at: new Date(0), confirmed_at: null },
    ...{ is_api_enabled: true, lacks_second_factor: false },
  };
  const authenticator: Authenticator = { findToken: async () => token, touchToken: (id) => void touched.push(id) };
  const { identify } = admission({ authenticator, requestsPerMinute: 0, now: () => new Date() });
  const caller = { authorization: "Bearer 7|known", session: undefined, ip: "192.0.2.1", setHeader: () => undefined };
  await identify({ ...caller, calls: 0, isUse: false });
  expect(touched).toEqual([]);
  await identify({ ...caller, calls: 0, isUse: true });
  expect(touched).toEqual([7]);
});
