import { RESOURCE_KINDS, type ResourceKind } from "@berth/core/resource";
import type { Ability } from "@berth/core/team";
import type { TRPCRouterRecord } from "@trpc/server";
import { z } from "zod";
import { operation } from "./operation.ts";
import type { OperationOptions, Path } from "./operation-options.ts";

/** Builds one sub-router per kind from a single definition. */
export function perKind<K extends ResourceKind, R extends TRPCRouterRecord>(
  kinds: readonly K[],
  build: (kind: K) => R,
): Record<K, R> {
  // The type of `Object.fromEntries` is wider; the keys are exactly `kinds`.
  return Object.fromEntries(kinds.map((kind) => [kind, build(kind)])) as Record<K, R>;
}

/** A kind with its article, for sentences. */
export const article = (kind: ResourceKind): string => `${RESOURCE_KINDS[kind].article} ${kind}`;

export interface ResourceOperationOptions<Shape extends z.ZodRawShape>
  extends Omit<OperationOptions, "path" | "tag" | "operationId" | "ability" | "upload"> {
  readonly ability: Ability;
  /** Below `/{plural}/{uuid}`, e.g. `/envs`; `""` is the resource itself. */
  readonly path: Path | "";
  /** `{kind}` is replaced by the kind's name: `list-envs-by-{kind}-uuid`. */
  readonly operationId: string;
  /** Input besides the path: a strict object, without `uuid` unless `uuidKey` names another key. */
  readonly input?: z.ZodObject<Shape>;
}

/**
 * An operation under `/{plural}/{uuid}` of a kind, e.g. `POST /databases/{uuid}/storages`. Its input is `input` with
 * the resource's `uuid`. With `pathKeys: { uuid: "owner_uuid" }` the resource's is `owner_uuid`, and `input` may have
 * another `uuid`.
 */
export function onResource<Shape extends z.ZodRawShape = {}, Key extends string = "uuid">(
  kind: ResourceKind,
  { path, operationId, input, ...options }: ResourceOperationOptions<Shape> & { readonly pathKeys?: { uuid: Key } },
) {
  const { plural, title, tag } = RESOURCE_KINDS[kind];
  const key = options.pathKeys?.uuid ?? "uuid";
  const owner = { [key]: z.string().describe(`The ${title.toLowerCase()}'s identifier.`) };
  const whole = (input ?? z.strictObject({})).safeExtend(owner);
  return operation({
    ...options,
    path: `/${plural}/{uuid}${path}`,
    operationId: operationId.replace("{kind}", kind),
    tag,
    // `safeExtend` keeps strictness and refinements; its computed type cannot be expressed for a generic shape.
  }).input(whole as unknown as z.ZodObject<Shape & Record<Key, z.ZodString>, z.core.$strict>);
}
