import { z } from "zod";
import { ResourceName } from "../name.ts";
import type { TokenRecord } from "../ports/records.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { ABILITIES, type Ability, type Role, roleAllows } from "./permission.ts";

/** Length of a secret's random part; eight hexadecimal digits of its checksum follow. */
const RANDOM_LENGTH = 40;

/** Only the hash of a secret is stored. The secret itself is returned once, when it is created. */
export function tokenSecret(random: (length: number) => string): string {
  const text = random(RANDOM_LENGTH);
  return `${text}${crc32(text).toString(16).padStart(8, "0")}`;
}

/** The text a client sends: `<id>|<secret>`. */
export const tokenText = (id: number, secret: string): string => `${id}|${secret}`;

/** The secret within a token's text, which may lack the number. */
export const secretOf = (text: string): string => /^\d+\|(.+)$/s.exec(text)?.[1] ?? text;

/** CRC-32 (ISO-HDLC) of an ASCII text. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const character of text) {
    crc ^= character.charCodeAt(0);
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

const Abilities = z.array(z.enum(ABILITIES)).min(1, "At least one ability.").max(ABILITIES.length);

export const TokenCreate = z.strictObject({
  name: ResourceName,
  abilities: Abilities.optional().describe(
    "What the token may do; none implies another, root implies all. Default read.",
  ),
  expires_at: z.iso
    .datetime({ offset: true, error: "Must be a time such as 2030-01-31T12:00:00Z." })
    .nullable()
    .optional()
    .meta({
      pattern: undefined,
      description: "When it expires, at the latest with the token that creates it, which is the default.",
    }),
  team_id: z
    .int()
    .min(0)
    .optional()
    .describe("For the ability root of the root team only: whose token it is. Default: the caller's team."),
  user_id: z
    .int()
    .min(0)
    .optional()
    .describe("Member of the team that it acts for, within what their role allows. Default: the caller."),
});
export type TokenCreate = z.infer<typeof TokenCreate>;

export const Token = z
  .object({
    id: z.int(),
    team_id: z.int(),
    user_id: z.int().describe("The user it acts for, whose role in the team limits its abilities."),
    name: z.string(),
    abilities: z.array(z.enum(ABILITIES)),
    expires_at: Timestamp.nullable(),
    last_used_at: Timestamp.nullable(),
    created_at: Timestamp,
  })
  .meta({ id: "Token", description: "Lets a program act for a team." });
export type Token = z.infer<typeof Token>;

export const CreatedToken = z
  .object({ ...Token.shape, token: z.string().describe("The token itself. It is never shown again.") })
  .meta({ id: "CreatedToken", description: "A new token with its text." });
export type CreatedToken = z.infer<typeof CreatedToken>;

export const tokenView = (token: TokenRecord): Token => ({
  id: token.id,
  team_id: token.team_id,
  user_id: token.user_id,
  name: token.name,
  abilities: [...token.abilities],
  expires_at: timestampOrNull(token.expires_at),
  last_used_at: timestampOrNull(token.last_used_at),
  created_at: timestamp(token.created_at),
});

/** The abilities that a token with these has in this role. */
export const effectiveAbilities = (role: Role, abilities: readonly Ability[]): readonly Ability[] =>
  (abilities.includes("root") ? ABILITIES : abilities).filter((ability) => roleAllows(role, ability));

/** Nobody can grant, or revoke, more abilities than they have. */
export const covers = (own: readonly Ability[], other: readonly Ability[]): boolean =>
  own.includes("root") || other.every((ability) => own.includes(ability));
