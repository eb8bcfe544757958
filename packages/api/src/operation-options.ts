import type { ErrorCode } from "@berth/core";
import type { Ability, RootTeamAction } from "@berth/core/team";
import type { ZodType } from "zod";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Path = `/${string}`;

/** Route and documentation of an operation. Its input must be a strict object, its output a zod schema. */
export interface OperationOptions {
  readonly method: Method;
  /** Below `/api/v1`, e.g. `/applications/{uuid}`. Every parameter is a key of the input. */
  readonly path: Path;
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Ability that the token needs; `null` makes the operation public. */
  readonly ability: Ability | null;
  /** Tokens of other teams than the root team are refused, whatever their abilities, with this action in the refusal. */
  readonly rootTeamOnly?: RootTeamAction;
  /** Administrators are refused, too; the root team acts in every team as its owner. */
  readonly isOwnerOnly?: true;
  /** With this ability, tokens of the root team also reach objects of other teams. */
  readonly rootTeamReaches?: Ability;
  /** Requirements of some requests besides the ability. `instant_deploy` need not be listed. */
  readonly extras?: readonly Extra[];
  /** Status on success. Default: 200. */
  readonly status?: 200 | 201 | 202 | 204;
  /**
   * Input keys that are query parameters although the method has a body (POST, PUT, PATCH); a JSON body may contain
   * them too. With GET and DELETE, all keys outside of the path are query parameters.
   */
  readonly query?: readonly string[];
  /** Path parameter to input key, if a key with the parameter's name in body or query means another object. */
  readonly pathKeys?: Readonly<Record<string, string>>;
  /** Additional paths of the same operation, documented as deprecated. */
  readonly aliases?: readonly Path[];
  /** Also serves GET on the same path, documented as deprecated: old clients call actions by GET. */
  readonly alsoByGet?: true;
  /** Ignores fields that are null or empty, and a flag `undefined` in the query: old clients send all they know. */
  readonly ignoresEmptyFields?: boolean;
  readonly deprecated?: true;
  /**
   * Errors in addition to those that are documented for every operation: 401, 403 and 429 if protected, 422 with an
   * input, 400 with a body, 404 with a path parameter.
   */
  readonly errors?: readonly ErrorCode[];
  /** The answer is plain text instead of JSON; the output is a string. */
  readonly contentType?: "text/plain";
  /** The body is a file of one of these types, read from `ctx.upload`; input keys are path and query parameters. */
  readonly upload?: { readonly contentTypes: readonly [string, ...string[]]; readonly description: string };
  /** The answer is a file of one of these types: a `Download`, sent while it is read. */
  readonly download?: { readonly contentTypes: readonly [string, ...string[]]; readonly description: string };
  /** A body for the description, where the one that is made of the schema would say little or be refused. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** For a subscription: the schema of one event's data. */
  readonly events?: ZodType;
  /** For a list that does not come from the database: it is always created completely, even for a part of it. */
  readonly isMadeWhole?: true;
  /** For a session whose team requires a second factor, and whose user has none yet. */
  readonly withoutSecondFactor?: true;
  /** Answers also while the API is switched off. */
  readonly evenWhenDisabled?: true;
  /** Not counted by the rate limit, for probes. */
  readonly isUncounted?: true;
}

/** Checked by the use case; declared for the OpenAPI document and `docs/permissions.md`, and tested against both. */
export interface Extra {
  /**
   * An ability; `operator`: the ability `root` in the root team; `owner`: that role; `root owner`: that role with the
   * ability `root`; `same`: every ability of the token that is created, changed or revoked, before and after.
   */
  readonly needs: Ability | "operator" | "owner" | "root owner" | "same";
  /** The requests it applies to, as in "for an owner". */
  readonly for: string;
}

/** Requests that only the operator may make, as checked by the use cases. */
export const OPERATOR = {
  address: { needs: "operator", for: "an address of Berth's own machine" },
  folder: { needs: "operator", for: "folders of Berth's own machine" },
  powers: { needs: "operator", for: "privileges on Berth's own machine" },
  cluster: { needs: "operator", for: "a cluster with Berth's own machine" },
} as const satisfies Record<string, Extra>;

/** Groups of the OpenAPI document, in their order. */
export const TAGS = {
  Applications: "Code, images and compose files that Berth builds, runs and routes.",
  Services: "Several containers that belong together, described by a compose file.",
  Databases: "Databases with their data, users and backups.",
  Registries: "Logins for registries of images.",
  "S3 storages": "Buckets for backups.",
  Deployments: "Deployments of resources, step by step.",
  Projects: "Groups of resources, split into environments.",
  Servers: "Machines that run or build resources.",
  "Private Keys": "SSH keys for servers and repositories.",
  Notifications: "What a team is notified of, and where.",
  Jobs: "Work in the background.",
  "Cloud Tokens": "Logins at providers that rent machines.",
  Hetzner: "What can be rented at Hetzner Cloud.",
  "GitHub Apps": "GitHub Apps that give access to repositories and report pushes.",
  Teams: "Teams and their members.",
  Tokens: "Tokens for programs that act for a team.",
  "Sign-in": "Browser sessions of people who act for a team.",
  Events: "What happened, and who did it.",
  System: "The instance itself.",
} as const;
export type Tag = keyof typeof TAGS;
