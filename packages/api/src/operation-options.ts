import type { ErrorCode } from "@berth/core";
import type { Ability } from "@berth/core/team";
import type { ZodType } from "zod";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Path = `/${string}`;

/** How an operation is reached and documented. Its input must be a strict object, its output a zod schema. */
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
  /** Tokens of other teams than the root team are refused, whatever their abilities. */
  readonly isRootTeamOnly?: true;
  /** With this ability, tokens of the root team also reach objects of other teams. */
  readonly rootTeamReaches?: Ability;
  /** What some requests need beyond the ability. `instant_deploy` need not be listed. */
  readonly extras?: readonly Extra[];
  /** Status of success. Default: 200. */
  readonly status?: 200 | 201 | 202 | 204;
  /**
   * Input keys that are query parameters although the method has a body (POST, PUT, PATCH). A JSON body may carry them
   * too. With GET and DELETE all keys that are not in the path are query parameters.
   */
  readonly query?: readonly string[];
  /** Path parameter to input key, where the body's or query's key of the same name is another object's. */
  readonly pathKeys?: Readonly<Record<string, string>>;
  /** Further paths that answer the same, documented as deprecated. */
  readonly aliases?: readonly Path[];
  /** Serves GET on the same path too, documented as deprecated: for actions, which old clients call so. */
  /** Fields of its body that are null or empty are as if they were not sent: old clients send all that they know. */
  readonly ignoresEmptyFields?: boolean;
  readonly alsoByGet?: true;
  readonly deprecated?: true;
  /**
   * What it refuses beyond what is documented by itself: 401, 403 and 429 of every protected operation, 422 of one with
   * an input, 400 of one with a body, 404 of one with a path parameter.
   */
  readonly errors?: readonly ErrorCode[];
  /** The answer is this text instead of JSON; the output is a string. */
  readonly contentType?: "text/plain";
  /** The body is a file of one of these types, read from `ctx.upload`; input keys are path and query parameters. */
  readonly upload?: { readonly contentTypes: readonly [string, ...string[]]; readonly description: string };
  /** A body for the description, where the one that is made of the schema would say little or be refused. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** For a subscription: the schema of one event's data. */
  readonly events?: ZodType;
  /** For a list that is not read from the database: it is made whole, however little of it is asked for. */
  readonly isMadeWhole?: true;
  /** Answers also while the API is switched off. */
  readonly evenWhenDisabled?: true;
  /** Not counted against the rate limit of requests, for probes. */
  readonly isUncounted?: true;
}

/** The use case checks it; it is declared for the description and `docs/permissions.md`, and tested against both. */
export interface Extra {
  /**
   * An ability; `operator`: the ability `root` in the root team; `owner`: that role; `same`: every ability of the token
   * that is made, changed or revoked, before and after.
   */
  readonly needs: Ability | "operator" | "owner" | "same";
  /** Which requests, as in "for an owner". */
  readonly for: string;
}

/** What only the operator may ask for, as the use cases check it. */
export const OPERATOR = {
  address: { needs: "operator", for: "an address of Berth's own machine" },
  folder: { needs: "operator", for: "folders of Berth's own machine" },
  powers: { needs: "operator", for: "privileges on Berth's own machine" },
} as const satisfies Record<string, Extra>;

/** Groups of the description, in its order. */
export const TAGS = {
  Applications: "Code, images and compose files that Berth builds, runs and routes.",
  Services: "Several containers that belong together, described by a compose file.",
  Databases: "Databases with their data, users and backups.",
  Registries: "Logins for registries of images.",
  "S3 storages": "Buckets that backups are sent to.",
  Deployments: "The way from a source to what runs, step by step.",
  Projects: "What belongs together, split into environments.",
  Servers: "Where things run.",
  "Private Keys": "Keys of SSH, for servers and repositories.",
  Jobs: "Work in the background.",
  "Cloud Tokens": "Logins at providers that rent machines.",
  Hetzner: "What can be rented at Hetzner Cloud.",
  "GitHub Apps": "GitHub Apps that give access to repositories and report pushes.",
  Teams: "Who owns what.",
  Tokens: "What lets a program act for a team.",
  "Sign-in": "What lets a person act for a team, with a browser.",
  Events: "What happened, and who did it.",
  System: "The instance itself.",
} as const;
export type Tag = keyof typeof TAGS;
