import type { Role } from "../team/permission.ts";
import type { SignInLinkRecord } from "./account.ts";
import type { Page, Paging, Timestamps, TokenRecord } from "./records.ts";

/** A user of the instance as a member of one team. */
export interface MemberRecord extends Timestamps {
  /** Id of the user. */
  readonly id: number;
  readonly name: string;
  /** In lower case. */
  readonly email: string;
  readonly role: Role;
  /**
   * When the user joined the team; `null` until they redeem a link to it. Their sessions can use the team only
   * afterwards.
   */
  readonly accepted_at: Date | null;
}

/** Members of the scope's team; for the root team, of all teams. */
export interface MemberStore {
  list(teamId: number, paging?: Paging): Promise<Page<MemberRecord>>;
  find(teamId: number, userId: number): Promise<MemberRecord | undefined>;
  /**
   * Adds the user with this email to the team, and creates the user if necessary. An existing user keeps their name.
   * @throws DomainError `resource.already_exists` for a member
   */
  insert(
    teamId: number,
    member: { readonly email: string; readonly name: string; readonly role: Role },
  ): Promise<MemberRecord>;
  /**
   * Also ends the user's sessions and links in the team.
   * @param providerId Provider whose groups give the role. Default: a person gives it, and groups no longer change it.
   */
  setRole(teamId: number, userId: number, role: Role, providerId?: number): Promise<MemberRecord | undefined>;
  /**
   * Also revokes the user's tokens in the team.
   * @param options.keepsUser Default: a user without any team is deleted.
   */
  delete(teamId: number, userId: number, options?: { readonly keepsUser: boolean }): Promise<boolean>;
  /** User ids. In a transaction: locks the team's owners until its end. */
  lockOwners(teamId: number): Promise<readonly number[]>;
  /** @param link Link for a member of the team. @throws DomainError `resource.not_found` */
  insertLink(link: SignInLinkRecord & { readonly hash: string; readonly expires_at: Date }): Promise<void>;
  /** Tokens of the user in the team. */
  tokens(teamId: number, userId: number): Promise<readonly TokenRecord[]>;
}
