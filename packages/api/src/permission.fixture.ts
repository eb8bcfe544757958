import { DomainError } from "@berth/core";
import type { Stores, SystemStores } from "@berth/core/ports";
import { parseTemplate } from "@berth/core/service";
import { ABILITIES, type Ability, ROLES, type Role, roleAllows, tokenText } from "@berth/core/team";
import { printingEngine, testPlace, testTemplates, testUuid } from "@berth/testing";
import { hashOfSecret } from "./auth.ts";
import { asOtherTeam, type Served, served, whereOf } from "./berth.fixture.ts";
import { madeWorld, OWN_ADDRESS, POWERFUL_COMPOSE, requestOf } from "./matrix-request.fixture.ts";
import type { Extra } from "./operation-options.ts";
import type { Permission } from "./permission.ts";

export const TEAMS = ["own", "other", "root"] as const;
/** From the point of view of the owner of the requested objects. */
export type CallerTeam = (typeof TEAMS)[number];

export interface Caller {
  readonly abilities: readonly Ability[];
  readonly role: Role;
  readonly team: CallerTeam;
}

export const CALLERS: readonly Caller[] = TEAMS.flatMap((team) =>
  ROLES.flatMap((role) => ABILITIES.map((ability) => ({ abilities: [ability], role, team }))),
);

/** `undefined`: allowed. Other tests check what the operation does. */
export type Refusal = 401 | 403 | 404 | undefined;

/** What the published matrix says about a call with objects of the team `own`. */
export function refusalOf(permission: Permission, caller: Caller | undefined): Refusal {
  const { ability, isRootTeamOnly, namesObjects, roles, rootTeamReaches } = permission;
  if (ability === null) return undefined;
  if (caller === undefined) return 401;
  if (!may(caller, ability)) return 403;
  if (isRootTeamOnly) return caller.team === "root" ? undefined : 403;
  if (caller.team === "own" && !roles.includes(caller.role)) return 403;
  if (caller.team === "own" || !namesObjects) return undefined;
  if (caller.team === "other" || rootTeamReaches === undefined) return 404;
  return may(caller, rootTeamReaches) ? undefined : 403;
}

/** The same for a call in the caller's own team with an extra requirement. `same`: the ability `deploy`. */
export function extraRefusalOf(permission: Permission, extra: Extra, caller: Caller): Refusal {
  const { needs } = extra;
  const refusal = refusalOf(permission, { ...caller, team: "own" });
  if (refusal !== undefined) return refusal;
  if (needs === "operator") return caller.team === "root" && may(caller, "root") ? undefined : 403;
  if (needs === "owner") return caller.role === "owner" ? undefined : 403;
  if (needs === "root owner") return caller.role === "owner" && may(caller, "root") ? undefined : 403;
  return may(caller, abilityFor(extra) ?? "root") ? undefined : 403;
}

/** The additional ability that an extra needs, if a single one is enough. */
export function abilityFor({ needs }: Extra): Ability | undefined {
  if (needs === "operator" || needs === "owner" || needs === "root owner") return undefined;
  return needs === "same" ? "deploy" : needs;
}

const may = ({ abilities, role }: Caller, ability: Ability): boolean =>
  (abilities.includes(ability) || abilities.includes("root")) && roleAllows(role, ability);

/** Every call has the same starting point, since its changes are rolled back. */
export interface Matrix {
  readonly api: Served;
  /** The status; 400 if the call did its work, which was then rolled back. */
  statusOf(permission: Permission, caller: Caller | undefined, extra?: Extra): Promise<number>;
  close(): Promise<void>;
}

export async function matrix(): Promise<Matrix> {
  let isUndoing = false;
  const build_packs = ["nixpacks", "static", "dockerfile", "dockerimage"] as const;
  const engine = printingEngine({ build_packs, keepsBuilds: true, privileged_mounts: true });
  const api = await served((db) => ({
    stores: ({ teamId }) => (isUndoing ? undoing(db.stores(teamId)) : db.stores(teamId)),
    system: undoingSystem(db.system, () => isUndoing),
    engineFor: () => engine,
    addresses: { isOwn: async (address) => address === OWN_ADDRESS },
    templates: [...testTemplates, parseTemplate("powerful", `# slogan: May all.\n${POWERFUL_COMPOSE}`)],
  }));
  const stores = api.db.stores();
  const place = await testPlace(stores);
  const own = await madeWorld(api);
  const root = await madeWorld(
    asOtherTeam({
      ...api,
      otherTeam: { token: api.rootToken, powerfulToken: api.rootToken, stores, place, where: whereOf(place) },
    }),
  );
  // Keys in bodies refer to the caller's own team, so that team gets a variable with this key.
  const body = { key: "THEIRS", value: "1" };
  await api.ask("POST", "/teams/current/shared-variables", { token: api.otherTeam.token, body });
  const tokens = tokensOf(api);
  isUndoing = true;
  return {
    api,
    async statusOf(permission, caller, extra) {
      const request = requestOf(extra !== undefined && caller?.team === "root" ? root : own, permission, extra);
      const token = caller && (await tokens(caller));
      const headers = { ...request.headers, ...(token && { authorization: `Bearer ${token}` }) };
      // A stream does not end, so only its head is read.
      const response = await api.app.inject({ ...request, headers, payloadAsStream: true });
      response.stream().destroy();
      return response.statusCode;
    },
    close: () => api.close(),
  };
}

/** Rolls transactions back at their end, by an error. */
const undoing = (stores: Stores): Stores => {
  const transaction: Stores["transaction"] = (work) =>
    stores.transaction(async (tx) => {
      await work(tx);
      throw new DomainError("resource.state", "Undone.");
    });
  return Object.create(stores, { transaction: { value: transaction } });
};

const undoingSystem = (system: SystemStores, isUndoing: () => boolean): SystemStores => ({
  ...system,
  transaction: (work) =>
    system.transaction(async (tx) => {
      const result = await work(tx);
      if (isUndoing()) throw new DomainError("resource.state", "Undone.");
      return result;
    }),
});

/** Tokens are made when they are first asked for, each user once by team and role. */
function tokensOf({ db, place, otherTeam }: Served): (caller: Caller) => Promise<string> {
  const teamIds = { own: place.server.team_id, other: otherTeam.place.server.team_id, root: 0 };
  const stores = db.stores();
  const users = new Map<string, Promise<number>>();
  const tokens = new Map<string, Promise<string>>();
  const kept = <T>(map: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> => {
    const found = map.get(key) ?? make();
    map.set(key, found);
    return found;
  };
  const user = async (team: CallerTeam, role: Role) => {
    const member = { email: `${testUuid()}@example.com`, name: role, role };
    return (await stores.members.insert(teamIds[team], member)).id;
  };
  return ({ team, role, abilities }) =>
    kept(tokens, [team, role, ...abilities].join(" "), async () => {
      const user_id = await kept(users, `${team} ${role}`, () => user(team, role));
      const secret = testUuid();
      const named = { team_id: teamIds[team], user_id, name: role, abilities, expires_at: null };
      const { id } = await stores.tokens.insert({ ...named, hash: hashOfSecret(secret) });
      return tokenText(id, secret);
    });
}
