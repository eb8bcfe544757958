import fc from "fast-check";
import { expect, test } from "vitest";
import { membershipChanges, rolesOfGroups } from "./group-role.ts";
import { ROLES } from "./permission.ts";

const rule = (group: string, team_id: number, role: (typeof ROLES)[number]) => ({ group, team_id, role });

test.each([
  [["dev"], [[1, "member"]]],
  [
    ["dev", "ops"],
    [
      [1, "admin"],
      [2, "owner"],
    ],
  ],
  [
    ["ops", "dev"],
    [
      [1, "admin"],
      [2, "owner"],
    ],
  ],
  [["DEV", "developers", ""], []],
])("groups %j give %j", (groups, roles) => {
  const rules = [rule("dev", 1, "member"), rule("ops", 1, "admin"), rule("ops", 2, "owner")];
  expect([...rolesOfGroups(rules, groups)]).toEqual(roles);
});

test("what changes is what groups give now, beside what they gave, and nothing of other origin", () => {
  const wanted = new Map([
    [1, "admin"],
    [2, "member"],
    [3, "owner"],
    [4, "member"],
  ] as const);
  const given = [
    { team_id: 2, role: "member" },
    { team_id: 3, role: "member" },
    { team_id: 5, role: "admin" },
  ] as const;
  expect(membershipChanges(wanted, given, [4, 6])).toEqual({
    join: [{ team_id: 1, role: "admin" }],
    change: [{ team_id: 3, role: "owner" }],
    leave: [5],
  });
});

test("a second sign-in with the same groups changes nothing", () => {
  const rules = fc.array(
    fc.record({ group: fc.constantFrom("a", "b", "c"), team_id: fc.nat(4), role: fc.constantFrom(...ROLES) }),
  );
  fc.assert(
    fc.property(rules, fc.subarray(["a", "b", "c"]), fc.subarray([0, 1, 2, 3, 4]), (some, groups, others) => {
      const wanted = rolesOfGroups(some, groups);
      const { join } = membershipChanges(wanted, [], others);
      expect(membershipChanges(wanted, join, others)).toEqual({ join: [], change: [], leave: [] });
    }),
  );
});
