import { expect, it } from "vitest";
import { groupRolesIn, groupRolesText } from "./group-roles.ts";

const teams = [
  { id: 0, name: "Root Team" },
  { id: 7, name: "Berth in Berlin as usual" },
];

it("reads what it writes", () => {
  const rules = [
    { group: "developers", team_id: 0, role: "admin" },
    { group: "cn=ops in kiel,ou=groups", team_id: 0, role: "member" },
    { group: "staff", team_id: 7, role: "owner" },
  ] as const;
  const text = groupRolesText(rules, teams);
  expect(text.split("\n")[0]).toBe("developers in Root Team as admin");
  expect(text.split("\n")[2]).toBe("staff in 7 as owner");
  expect(groupRolesIn(text, teams)).toEqual(rules);
});

it("takes a team by its number too, and leaves out empty lines", () => {
  expect(groupRolesIn("\n  staff in 7 as owner \n\n", teams)).toEqual([{ group: "staff", team_id: 7, role: "owner" }]);
  expect(groupRolesIn("", teams)).toEqual([]);
});

it.each(["developers", "developers in Root Team", "developers in Nowhere as admin", "developers in Root Team as king"])(
  "refuses %s",
  (line) => expect(groupRolesIn(line, teams)).toBeUndefined(),
);
