import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ABILITIES,
  type Ability,
  can,
  mayManage,
  maySeeSecrets,
  type PersonSession,
  ROLES,
  ROOT_TEAM_ID,
  type Role,
  requireAbility,
  requireOperator,
  type Scope,
} from "./permission.ts";
import { covers } from "./token.ts";

const scope = (role: Role, abilities: readonly Ability[]): Scope => ({
  teamId: 1,
  abilities,
  actor: { type: "token", id: 1, name: "test", expiresAt: null, userId: 1, role },
});
const system = (abilities: readonly Ability[]): Scope => ({
  teamId: 1,
  abilities,
  actor: { type: "system", name: "test" },
});

const held = fc.subarray([...ABILITIES]);
const role = fc.constantFrom(...ROLES);
const ability = fc.constantFrom(...ABILITIES);

const refusal = (asked: Scope, wanted: Ability): readonly [string, string] | undefined => {
  try {
    requireAbility(asked, wanted);
    return undefined;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return [code, message];
  }
};

const ALONE = {
  owner: {
    root: ABILITIES,
    read: ["read"],
    "read:sensitive": ["read:sensitive"],
    write: ["write"],
    "write:sensitive": ["write:sensitive"],
    deploy: ["deploy"],
    terminal: ["terminal"],
  },
  admin: {
    root: ABILITIES,
    read: ["read"],
    "read:sensitive": ["read:sensitive"],
    write: ["write"],
    "write:sensitive": ["write:sensitive"],
    deploy: ["deploy"],
    terminal: ["terminal"],
  },
  member: {
    root: ["read"],
    read: ["read"],
    "read:sensitive": [],
    write: [],
    "write:sensitive": [],
    deploy: [],
    terminal: [],
  },
} as const satisfies Record<Role, Record<Ability, readonly Ability[]>>;

describe("a token", () => {
  test.each(ROLES.flatMap((of) => ABILITIES.map((one) => [of, one] as const)))(
    "of the role %s with the ability %s may do what the table says",
    (of, one) => {
      expect(ABILITIES.filter((wanted) => can(scope(of, [one]), wanted))).toEqual(ALONE[of][one]);
    },
  );

  test("with several abilities may do what each of them allows, and nothing more", () => {
    fc.assert(
      fc.property(role, held, ability, (of, abilities, wanted) => {
        expect(can(scope(of, abilities), wanted)).toBe(abilities.some((one) => can(scope(of, [one]), wanted)));
      }),
    );
  });

  test("of a member may read and nothing else, whatever it holds", () => {
    fc.assert(
      fc.property(held, ability, (abilities, wanted) => {
        if (can(scope("member", abilities), wanted)) expect(wanted).toBe("read");
        expect(maySeeSecrets(scope("member", abilities))).toBe(false);
      }),
    );
  });

  test("is refused exactly what it may not do, and told whether it or its user lacks it", () => {
    fc.assert(
      fc.property(role, held, ability, (of, abilities, wanted) => {
        const asked = scope(of, abilities);
        const told = refusal(asked, wanted);
        expect(told === undefined).toBe(can(asked, wanted));
        if (told === undefined) return;
        const isHeld = can(scope("owner", abilities), wanted);
        expect(told).toEqual(
          isHeld
            ? ["auth.missing_role", "Missing required team role."]
            : ["auth.missing_ability", `Missing required permissions: ${wanted}`],
        );
      }),
    );
  });

  test("never makes one that may do more than it may itself", () => {
    fc.assert(
      fc.property(role, held, held, ability, (of, own, made, wanted) => {
        fc.pre(covers(own, made) && can(scope(of, made), wanted));
        expect(can(scope(of, own), wanted)).toBe(true);
      }),
    );
  });
});

test("the instance itself is bounded by its abilities, not by a role", () => {
  fc.assert(
    fc.property(held, ability, (abilities, wanted) => {
      expect(can(system(abilities), wanted)).toBe(can(scope("owner", abilities), wanted));
    }),
  );
});

test("nobody but an owner touches owners, and members touch nobody", () => {
  const table = ROLES.map((of) => [of, ROLES.filter((other) => mayManage(of, other))]);
  expect(table).toEqual([
    ["owner", ["owner", "admin", "member"]],
    ["admin", ["admin", "member"]],
    ["member", []],
  ]);
});

test("Berth's own machine is for the root team, in a browser by a password or passkey given lately", () => {
  const asked = (teamId: number, session?: PersonSession): Scope => {
    const { actor, ...own } = scope("owner", ["root"]);
    return { ...own, teamId, actor: actor.type === "token" ? { ...actor, session } : actor };
  };
  const session = (isConfirmed: boolean) => ({ isConfirmed, lacksSecondFactor: false });
  expect(() => requireOperator(asked(1, session(true)))).toThrow("Only the root team");
  expect(() => requireOperator(asked(ROOT_TEAM_ID, session(false)))).toThrow("password or a passkey again");
  requireOperator(asked(ROOT_TEAM_ID, session(true)));
  requireOperator(asked(ROOT_TEAM_ID));
});
