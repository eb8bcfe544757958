import { type GroupRole, ROLES } from "@berth/core/team";

interface Named {
  readonly id: number;
  readonly name: string;
}

/** Rules as a person reads and writes them, one a line: `developers in Shop as member`. */
export const groupRolesText = (rules: readonly GroupRole[], teams: readonly Named[]): string =>
  rules
    .map(({ group, team_id, role }) => {
      const named = teams.find(({ id }) => id === team_id);
      const isClear = named !== undefined && teams.filter(({ name }) => name === named.name).length === 1;
      return `${group} in ${isClear && !/ (in|as) |^\d+$/.test(named.name) ? named.name : team_id} as ${role}`;
    })
    .join("\n");

/** @returns `undefined` for a line of another form, or with a team or role that does not exist. */
export function groupRolesIn(text: string, teams: readonly Named[]): readonly GroupRole[] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const rules = lines.map((line): GroupRole | undefined => {
    const [, group = "", team = "", word = ""] = /^\s*(\S.*) in (\S.*) as (\S+)\s*$/.exec(line) ?? [];
    const role = ROLES.find((one) => one === word);
    const [found, ...more] = teams.filter(({ id, name }) => (/^\d+$/.test(team) ? String(id) : name) === team);
    return role === undefined || found === undefined || more.length > 0
      ? undefined
      : { group, team_id: found.id, role };
  });
  return rules.every((rule) => rule !== undefined) ? rules : undefined;
}
