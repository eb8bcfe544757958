import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exceedingAbilities, MemberAdd, nameFromEmail, requireDispensable } from "./member.ts";
import { ABILITIES, mayManage, ROLES, type Role } from "./permission.ts";

describe("a new member", () => {
  test("is named by an address that is written in one way only", () => {
    for (const email of ["Ada@Example.com", " ada@example.com ", "ADA@EXAMPLE.COM"]) {
      expect(MemberAdd.parse({ email })).toEqual({ email: "ada@example.com" });
    }
    expect(nameFromEmail("ada@example.com")).toBe("ada");
  });

  test("has an address, a role that there is, and no other fields", () => {
    for (const wrong of [
      {},
      { email: "" },
      { email: "ada" },
      { email: "ada@example.com, eve@example.com" },
      { email: `${"a".repeat(250)}@example.com` },
      { email: "ada@example.com", role: "root" },
      { email: "ada@example.com", name: "" },
      { email: "ada@example.com", password: "x" },
    ]) {
      expect(MemberAdd.safeParse(wrong).success).toBe(false);
    }
  });
});

test("a role's token holds no more than the role allows", () => {
  expect(exceedingAbilities("member", ["read", "write", "root"])).toEqual(["write", "root"]);
  expect(exceedingAbilities("admin", ABILITIES)).toEqual([]);
});

describe("a team", () => {
  const isRefused = (...args: Parameters<typeof requireDispensable>) => {
    try {
      requireDispensable(...args);
      return false;
    } catch {
      return true;
    }
  };

  test("cannot do without its last owner, and the instance's team not without the instance's user", () => {
    expect(isRefused(5, 1, [1])).toBe(true);
    expect(isRefused(5, 1, [1, 2])).toBe(false);
    expect(isRefused(5, 3, [1])).toBe(false);
    expect(isRefused(0, 0, [0, 2])).toBe(true);
    expect(isRefused(0, 2, [0, 2])).toBe(false);
  });

  /** One member changes the role of another, or removes them. */
  const change = fc.record({
    actor: fc.nat(3),
    target: fc.nat(3),
    role: fc.option(fc.constantFrom(...ROLES), { nil: undefined }),
  });

  test("always has an owner, and gets one from owners only, whoever tries whatever", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const roles = new Map<number, Role>([
          [0, "owner"],
          [1, "admin"],
          [2, "member"],
        ]);
        for (const { actor, target, role } of changes) {
          const [own = "member", before = "member"] = [roles.get(actor), roles.get(target)];
          const owners = [...roles].filter(([, of]) => of === "owner").map(([id]) => id);
          const isAllowed = mayManage(own, before) && (role === undefined || mayManage(own, role));
          if (!isAllowed || (role !== "owner" && isRefused(5, target, owners))) continue;
          if (role === undefined) roles.delete(target);
          else roles.set(target, role);
          if (own !== "owner") expect([before, role]).not.toContain("owner");
          expect([...roles.values()]).toContain("owner");
        }
      }),
    );
  });
});
