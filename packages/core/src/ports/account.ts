import type { Role } from "../team/permission.ts";

/** A user with what they sign in with, across teams. */
export interface AccountRecord {
  readonly id: number;
  readonly name: string;
  readonly email: string;
  /** `null`: they never chose one. */
  readonly password_hash: string | null;
}

/** A token of kind `session`. */
export interface SessionRecord {
  readonly id: number;
  readonly team_id: number;
  readonly user_id: number;
  readonly device: string;
  readonly address: string;
  /** When its user last gave their password. */
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
  /** Made by who runs the instance: it replaces a password. */
  readonly replaces_password: boolean;
}

/** Users and what they sign in with: asked before there is a scope. */
export interface AccountStore {
  findByEmail(email: string): Promise<AccountRecord | undefined>;
  find(userId: number): Promise<AccountRecord | undefined>;
  /** In a transaction: until its end, others who ask so for the same user wait. */
  lock(userId: number): Promise<AccountRecord | undefined>;
  /** @throws DomainError `resource.already_exists` where another user has the address */
  update(
    userId: number,
    change: { readonly name?: string | undefined; readonly email?: string | undefined },
  ): Promise<void>;
  setPassword(userId: number, hash: string): Promise<void>;
  /** Those that the user accepted, by name: a session enters no others. */
  teams(userId: number): Promise<readonly TeamMembership[]>;
  acceptTeam(userId: number, teamId: number): Promise<void>;
  /** All that the user was invited to. */
  acceptTeams(userId: number): Promise<void>;
  /** A new user, who is a member of the team and accepted it. */
  signUp(user: { readonly email: string; readonly name: string; readonly team_id: number }): Promise<AccountRecord>;

  /** @param session In a team that the user is a member of. */
  insertSession(session: {
    readonly team_id: number;
    readonly user_id: number;
    /** The user's. */
    readonly name: string;
    /** SHA-256 (hex) of both halves of its secret. */
    readonly hash: string;
    readonly device: string;
    readonly address: string;
    readonly confirmed_at: Date;
    readonly expires_at: Date;
  }): Promise<SessionRecord>;
  /** Those that have not expired, the newest first. */
  sessions(userId: number): Promise<readonly SessionRecord[]>;
  confirmSession(id: number, at: Date): Promise<void>;
  /** `false` when the user is not in the team, or did not accept it. */
  moveSession(session: Pick<SessionRecord, "id" | "user_id">, teamId: number): Promise<boolean>;
  /** `false` when the user has no such session. */
  deleteSession(userId: number, id: number): Promise<boolean>;
  /** @param keptId The one that stays. */
  deleteSessions(userId: number, keptId: number | undefined): Promise<number>;

  /** `undefined` for one that is unknown, was redeemed or has expired. */
  findLink(hash: string): Promise<SignInLinkRecord | undefined>;
  /** Those to this team, and those that replace the password. */
  deleteLinks(userId: number, teamId: number | undefined): Promise<void>;
  /** A team's name, for who is invited to it. */
  teamName(teamId: number): Promise<string | undefined>;
}

/** Slow on purpose, and bounded in how many run at once. */
export interface PasswordHasher {
  hash(password: string): Promise<string>;
  /** Takes as long without a hash to compare with, and is `false` then. */
  verify(password: string, hash: string | null): Promise<boolean>;
}
