import type { Role } from "../team/permission.ts";
import type { SignInLinkRecord } from "./account.ts";
import type { Page, Paging, Timestamps, TokenRecord } from "./records.ts";

/** A user of the instance, as what they are in one team. */
export interface MemberRecord extends Timestamps {
  /** The user's. */
  readonly id: number;
  readonly name: string;
  /** Lower case. */
  readonly email: string;
  readonly role: Role;
  /** Since when sessions of the user may be in the team; `null` before they redeemed a link to it. */
  readonly accepted_at: Date | null;
}

/** Members of the scope's team; for the root team, of all teams. Another team has none. */
export interface MemberStore {
  list(teamId: number, paging?: Paging): Promise<Page<MemberRecord>>;
  find(teamId: number, userId: number): Promise<MemberRecord | undefined>;
  /**
   * Makes the user with this email a member, and the user first where there is none; a known one keeps their name.
   * @throws DomainError `resource.already_exists` for a member
   */
  insert(
    teamId: number,
    member: { readonly email: string; readonly name: string; readonly role: Role },
  ): Promise<MemberRecord>;
  /** Ends the user's sessions in the team, and what links to it they have. */
  setRole(teamId: number, userId: number, role: Role): Promise<MemberRecord | undefined>;
  /** Revokes the user's tokens of the team too. A user who is in no team any more is forgotten. */
  delete(teamId: number, userId: number): Promise<boolean>;
  /** User ids. Until the transaction ends, nobody else asks for the owners of this team. */
  lockOwners(teamId: number): Promise<readonly number[]>;
  /** @param link Of a member of the team. @throws DomainError `resource.not_found` */
  insertLink(link: SignInLinkRecord & { readonly hash: string; readonly expires_at: Date }): Promise<void>;
  /** Tokens of the user in the team. */
  tokens(teamId: number, userId: number): Promise<readonly TokenRecord[]>;
}
