import { ABILITIES } from "@berth/core/team";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  abilityFor,
  CALLERS,
  type Caller,
  extraRefusalOf,
  type Matrix,
  matrix,
  type Refusal,
  refusalOf,
} from "./permission.fixture.ts";
import { permissionsOf } from "./permission.ts";
import { appRouter } from "./root.ts";

const permissions = permissionsOf(appRouter).map((permission) => [permission.operation.name, permission] as const);
const extras = permissions.flatMap(([name, permission]) =>
  permission.extras.map((extra) => [`${name} for ${extra.for}`, permission, extra] as const),
);

describe("who may do what is as docs/permissions.md says", () => {
  let at: Matrix;
  beforeAll(async () => {
    at = await matrix();
  });
  afterAll(async () => {
    expect(at.api.faults).toEqual([]);
    await at.close();
  });

  test.each(permissions)("%s", async (_, permission) => {
    const wrong = [];
    for (const caller of [undefined, ...CALLERS]) {
      const status = await at.statusOf(permission, caller);
      wrong.push(...mistakes(caller, status, refusalOf(permission, caller)));
    }
    expect(wrong).toEqual([]);
  });

  test.each(extras)("%s", async (_, permission, extra) => {
    const { ability } = permission;
    const needed = ABILITIES.filter((other) => other === ability || other === abilityFor(extra));
    const enough = { abilities: needed, role: "owner", team: "own" } as const;
    const wrong = [];
    for (const caller of [...CALLERS.filter(({ team }) => team !== "other"), enough]) {
      const status = await at.statusOf(permission, caller, extra);
      wrong.push(...mistakes(caller, status, extraRefusalOf(permission, extra, caller)));
    }
    expect(wrong).toEqual([]);
  });
});

const REFUSALS: readonly number[] = [401, 403, 404];

/** The differences between the answer and the matrix, as texts. */
function mistakes(caller: Caller | undefined, status: number, said: Refusal): string[] {
  const isAsSaid = said === undefined ? !REFUSALS.includes(status) : status === said;
  const who = caller ? `${caller.role} of the ${caller.team} team with ${caller.abilities.join("+")}` : "nobody";
  return isAsSaid ? [] : [`${who}: ${status}, not ${said ?? "let in"}`];
}
