import type { GroupMembership } from "../team/group-role.ts";
import type { Role } from "../team/permission.ts";

/** A user with their login, independent of teams. */
export interface AccountRecord {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  /** `null`: no password was chosen yet. */
  readonly password_hash: string | null;
}

/** A token of kind `session`. */
export interface SessionRecord {
  readonly id: number;
  readonly team_id: number;
  readonly user_id: number;
  readonly device: string;
  readonly address: string;
  /** When its user last entered their password or used a passkey. */
  readonly confirmed_at: Date | null;
  readonly expires_at: Date;
  readonly last_used_at: Date | null;
  readonly created_at: Date;
  /** Its team or the instance requires a second factor, which its user lacks. */
  readonly lacks_second_factor: boolean;
}

export interface TeamMembership {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

export interface SignInLinkRecord {
  readonly user_id: number;
  readonly team_id: number;
  /** The operator of the instance made it, to replace a password. */
  readonly replaces_password: boolean;
}

export interface CurrentAccount {
  readonly session: SessionRecord;
  readonly user: Pick<AccountRecord, "id" | "name" | "email">;
  /** As `teams` lists them. */
  readonly teams: readonly TeamMembership[];
}

/** Users and their logins: used before there is a scope. */
export interface AccountStore {
  findByEmail(email: string): Promise<AccountRecord | undefined>;
  find(userId: number): Promise<AccountRecord | undefined>;
  /** In a transaction: locks the user until its end, so that other callers wait. */
  lock(userId: number): Promise<AccountRecord | undefined>;
  /** @throws DomainError `resource.already_exists` where another user has the address */
  update(
    userId: number,
    change: { readonly name?: string | undefined; readonly email?: string | undefined },
  ): Promise<void>;
  setPassword(userId: number, hash: string): Promise<void>;
  /** Teams that the user has joined, by name: sessions are for these only. */
  teams(userId: number): Promise<readonly TeamMembership[]>;
  /** Whether the user joined another team, or another one added them before this one did. */
  hasEarlierTeam(userId: number, teamId: number): Promise<boolean>;
  acceptTeam(userId: number, teamId: number): Promise<void>;
  /** All that the user was invited to. */
  acceptTeams(userId: number): Promise<void>;
  /** A new user without a team. */
  signUp(user: { readonly email: string; readonly name: string }): Promise<AccountRecord>;
  /**
   * Makes the user a member who accepted the team, also where they were invited before.
   * @param providerId Provider whose groups give the membership.
   * @returns `false` if the team does not exist, or the user has joined it already.
   */
  join(userId: number, membership: GroupMembership, providerId: number | null): Promise<boolean>;
  /** Teams that the user joined, with the provider whose groups gave them. */
  memberships(userId: number): Promise<readonly (GroupMembership & { readonly provider_id: number | null })[]>;

  /** @param session The user must be a member of its team. */
  insertSession(session: {
    readonly team_id: number;
    readonly user_id: number;
    /** Name of the user. */
    readonly name: string;
    /** SHA-256 (hex) of both halves of its secret. */
    readonly hash: string;
    readonly device: string;
    readonly address: string;
    readonly confirmed_at: Date;
    readonly expires_at: Date;
    /** Which the user signed in with. */
    readonly passkey_id: number | null;
  }): Promise<SessionRecord>;
  /** A session of the user that has not expired, with what its page shows of them. One statement: each page asks first. */
  current(userId: number, sessionId: number): Promise<CurrentAccount | undefined>;
  /** Sessions that have not expired, newest first. */
  sessions(userId: number): Promise<readonly SessionRecord[]>;
  /** Whether any team of its user, or the instance, requires a second factor that this session lacks. */
  lacksSecondFactor(sessionId: number): Promise<boolean>;
  /** @param passkeyId Which the user confirmed with; omitted for the password. */
  confirmSession(id: number, at: Date, passkeyId?: number): Promise<void>;
  /** `false` if the user is not in the team or has not joined it yet. */
  moveSession(session: Pick<SessionRecord, "id" | "user_id">, teamId: number): Promise<boolean>;
  /** `false` if the user has no such session. */
  deleteSession(userId: number, id: number): Promise<boolean>;
  /** @param keptId The session that stays. */
  deleteSessions(userId: number, keptId: number | undefined): Promise<number>;

  /** `undefined` if the link is unknown, redeemed or expired. */
  findLink(hash: string): Promise<SignInLinkRecord | undefined>;
  /** Deletes the user's links to this team, and those that replace the password. */
  deleteLinks(userId: number, teamId: number | undefined): Promise<void>;
  /** A team's name, for a user who is invited. */
  teamName(teamId: number): Promise<string | undefined>;
}

/** Hashing is slow on purpose, and limited in how many run at once. */
export interface PasswordHasher {
  hash(password: string): Promise<string>;
  /** Without a hash it takes the same time and returns `false`. */
  verify(password: string, hash: string | null): Promise<boolean>;
}
