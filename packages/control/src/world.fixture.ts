import { createHash } from "node:crypto";
import type { ApplicationCreatePublic } from "@berth/core/application";
import type { ServerRecord, Stores } from "@berth/core/ports";
import type { Ability, Role, Scope, Token } from "@berth/core/team";
import {
  type Backend,
  type PrintingEngine,
  printingEngine,
  refusingCloud,
  refusingPasskeys,
  refusingProviders,
  type TestDatabase,
  type TestPlace,
  testBackupFiles,
  testBucket,
  testCertificates,
  testDatabase,
  testGitHost,
  testKeyReader,
  testMagic,
  testPasswords,
  testPlace,
  testSites,
  testTemplates,
  testUuid,
} from "@berth/testing";
import { type Control, type ControlDeps, control, signInTries } from "./index.ts";

/** A database with two teams, each with a project and a server, and the use cases of both. No worker runs. */
export interface World {
  readonly db: TestDatabase;
  readonly engine: PrintingEngine;
  readonly stores: Stores;
  readonly place: TestPlace;
  /** The place, as in the input of a creation. */
  readonly where: { readonly project_uuid: string; readonly environment_name: string; readonly server_uuid: string };
  /** With all abilities by default. */
  as(teamId: number, ...abilities: Ability[]): Control;
  /** As the owner of this token, by default with the role `owner`. */
  asToken(token: Pick<Token, "id" | "team_id" | "user_id" | "abilities" | "expires_at">, role?: Role): Control;
  readonly own: Control;
  readonly otherTeam: { readonly id: number; readonly control: Control; readonly where: World["where"] };
  readonly uploads: Map<string, number>;
}

export const EVERYTHING: Ability[] = ["read", "read:sensitive", "write", "write:sensitive", "deploy"];

export async function world(
  options: Partial<ControlDeps> & { readonly backend?: Backend; readonly connectionsMax?: number } = {},
): Promise<World> {
  const { backend, connectionsMax, ...changed } = options;
  const db = await testDatabase({
    ...(backend === undefined ? {} : { backend }),
    ...(connectionsMax === undefined ? {} : { connectionsMax }),
  });
  const engine = printingEngine();
  const uploads = new Map<string, number>();
  const use = control({ ...deps(db, engine, uploads), ...changed });
  const as = (teamId: number, ...abilities: Ability[]) => use(scopeOf(teamId, abilities));
  const team = await db.stores().teams.insert({ name: "Own", description: null });
  const other = await db.stores().teams.insert({ name: "Other", description: null });
  const place = await testPlace(db.stores(team.id));
  const otherPlace = await testPlace(db.stores(other.id));
  return {
    db,
    engine,
    stores: db.stores(team.id),
    place,
    where: whereOf(place),
    as,
    asToken: ({ id, team_id, user_id: userId, abilities, expires_at }, role = "owner") => {
      const expiresAt = expires_at === null ? null : new Date(expires_at);
      return use({
        ...scopeOf(team_id, abilities),
        actor: { type: "token", id, name: "test", expiresAt, userId, role },
      });
    },
    own: as(team.id),
    otherTeam: { id: other.id, control: as(other.id), where: whereOf(otherPlace) },
    uploads,
  };
}

const scopeOf = (teamId: number, abilities: readonly Ability[]): Scope => ({
  teamId,
  abilities: abilities.length > 0 ? abilities : EVERYTHING,
  actor: { type: "system", name: "test" },
});

const whereOf = ({ project, environment, server }: TestPlace) => ({
  project_uuid: project.uuid,
  environment_name: environment.name,
  server_uuid: server.uuid,
});

function deps(db: TestDatabase, engine: PrintingEngine, uploads: Map<string, number>): ControlDeps {
  return {
    stores: ({ teamId }) => db.stores(teamId),
    engineFor: () => engine,
    publicUrl: (url) => url.replace(/^(https?:\/\/[^/:]+)(:\d+)?/, "$1:8000"),
    urlProblem: () => undefined,
    servesHttps: () => true,
    instanceUrl: "http://berth.example",
    reportedVersion: "4.0.0-test",
    keys: testKeyReader,
    addresses: { isOwn: async (host) => host === "own.example" },
    sites: testSites,
    teamServersMax: null,
    gitHost: testGitHost(),
    cloud: refusingCloud,
    objectStorage: () => testBucket(),
    backupFiles: testBackupFiles(),
    verifyContent: (content) => content,
    wait: async () => undefined,
    clock: { now: () => new Date() },
    ids: { uuid: testUuid, secret: (length) => testUuid().repeat(6).slice(0, length) },
    magic: testMagic,
    certificates: testCertificates,
    sendNotification: async () => ({ isDelivered: false, problem: "Nothing is sent in tests.", isFinal: true }),
    templates: testTemplates,
    system: db.system,
    passwords: testPasswords,
    providers: refusingProviders,
    passkeyVerifier: refusingPasskeys,
    tries: signInTries({ now: () => new Date() }),
    hashToken: (secret) => createHash("sha256").update(secret).digest("hex"),
    source: {
      defaultBranch: async () => "trunk",
      async saveUpload(uuid, archive) {
        let sizeBytes = 0;
        for await (const chunk of archive) sizeBytes += chunk.length;
        uploads.set(uuid, sizeBytes);
        return { commit: createHash("sha256").update(`${sizeBytes}`).digest("hex"), sizeBytes };
      },
    },
  };
}

/** Valid input for an application from git. */
export const gitApplication = (
  { where }: Pick<World, "where">,
  fields: Partial<ApplicationCreatePublic> = {},
): ApplicationCreatePublic => ({
  ...where,
  git_repository: "https://git.example/team/hello.git",
  git_branch: "main",
  build_pack: "nixpacks",
  ...fields,
});

/** Another destination on the server. */
export const secondDestination = (stores: Stores, server: ServerRecord) =>
  stores.destinations.insert({ uuid: testUuid(), server_id: server.id, name: "second", network: "second" });

/** Runs all at once; returns the error code of each, or `done`. */
export async function outcomes(works: readonly Promise<unknown>[]): Promise<string[]> {
  const results = await Promise.allSettled(works);
  return results.map((result) => (result.status === "fulfilled" ? "done" : messageOf(result.reason)));
}

const messageOf = (reason: unknown) => (reason instanceof Error ? reason.message : String(reason));
