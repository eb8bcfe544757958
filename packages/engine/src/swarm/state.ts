import { containerTitle } from "@berth/core/compose";
import { REPLICA, type ReleaseContainer, type ReleaseRef, type ReleaseState, stackState } from "@berth/core/deploy";
import type { ReleasePart } from "../docker/state.ts";

/** What a service of a release says of it. */
export interface ReleaseService {
  readonly ref: ReleaseRef;
  /** `undefined`: the release is an image, and has no other service. */
  readonly member?: StackMember | undefined;
  readonly replicas: number;
  /** Berth stopped it: its tasks find no node. */
  readonly isStopped: boolean;
  readonly run: number;
}

/** A container of a compose file. */
export interface StackMember {
  readonly name: string;
  /** Position in the compose file. */
  readonly order: number;
  /** There are several, which have numbers. */
  readonly isNumbered: boolean;
  readonly isExcluded: boolean;
  readonly port: number | null;
  readonly restarts: "always" | "on-failure" | "never";
}

/** Counts the containers of a replica that have ended in this run, also those that the swarm has removed since. */
export type CountEnded = (title: string, run: number, startsMs: readonly number[]) => number;

/**
 * State of a release on a swarm. A task that ends is replaced by another container, maybe on another node: the
 * containers with the same number are one replica and its past.
 *
 * @param parts Its containers on all nodes, also those that have ended.
 */
export function clusterState(
  ref: ReleaseRef,
  services: readonly ReleaseService[],
  parts: readonly ReleasePart[],
  countEnded: CountEnded = (_title, _run, startsMs) => startsMs.length,
): ReleaseState {
  const containers = services
    .toSorted((a, b) => (a.member?.order ?? 0) - (b.member?.order ?? 0))
    .flatMap((service) => {
      const own = parts.filter(({ container }) => container.name === (service.member?.name ?? REPLICA));
      return numbersOf(service, own).map((number) => replicaOf(service, own, number, countEnded));
    });
  const [first] = containers;
  const isStack = services.some(({ member }) => member !== undefined);
  if (first === undefined || containers.length > 1 || isStack) return { ...ref, ...stackState(containers) };
  const { state, restartCount, exitCode, startedAt, health } = first;
  return {
    ...ref,
    state,
    upstream: upstreamOf(first),
    restartCount,
    exitCode,
    startedAt,
    ...(health === undefined ? {} : { health }),
  };
}

/** Numbers of its replicas: a swarm that removes some chooses them itself, so that others are left. */
function numbersOf({ replicas }: ReleaseService, parts: readonly ReleasePart[]): readonly number[] {
  const all = [...new Set(parts.map(numberOf))].sort((a, b) => a - b);
  const isLive = (number: number) => parts.some((part) => numberOf(part) === number && !hasEnded(part.container));
  const live = all.filter(isLive);
  const past = all.filter((number) => !isLive(number)).slice(0, Math.max(0, replicas - live.length));
  const known = [...live, ...past];
  const unused = Array.from({ length: replicas }, (_, at) => at + 1).filter((number) => !known.includes(number));
  return [...known, ...unused.slice(0, Math.max(0, replicas - known.length))].sort((a, b) => a - b);
}

function replicaOf(
  service: ReleaseService,
  parts: readonly ReleasePart[],
  number: number,
  countEnded: CountEnded,
): ReleaseContainer {
  const own = byAge(parts.filter((part) => numberOf(part) === number));
  const current = own.at(-1);
  const earlier = own.slice(0, -1).filter(({ run }) => run === current?.run);
  const state = stateOf(service, current?.container, earlier.length > 0);
  const hasCrashed = state === "restarting" && current !== undefined && hasEnded(current.container);
  const ended = hasCrashed ? [...earlier, current] : earlier;
  const previous = earlier.at(-1)?.container;
  const health = state === "running" ? current?.container.health : undefined;
  // Until the next container has started, all is as its predecessor left it.
  const last = state === "restarting" && !hasCrashed ? previous : current?.container;
  const { member } = service;
  const identity =
    member === undefined
      ? { name: REPLICA, isReplica: true as const, number }
      : { name: member.name, ...(member.isNumbered ? { number } : {}) };
  return {
    ...identity,
    state,
    ...(health === undefined ? {} : { health }),
    restartCount: countEnded(containerTitle(identity), current?.run ?? 0, ended.map(startOf)),
    exitCode: last !== undefined && hasEnded(last) ? last.exitCode : (previous?.exitCode ?? null),
    startedAt: last?.startedAt ?? null,
    address: state === "running" ? (current?.container.address ?? null) : null,
    port: current?.container.port ?? member?.port ?? null,
    isExcluded: member?.isExcluded ?? false,
    // The next reconciliation starts it again if its release stays live.
    ...(service.isStopped && state === "exited" && member?.restarts === "always" ? { isStopped: true } : {}),
  };
}

function stateOf(
  { isStopped, member }: ReleaseService,
  current: ReleaseContainer | undefined,
  hasPast: boolean,
): ReleaseContainer["state"] {
  if (current === undefined) return isStopped ? "exited" : "created";
  if (hasEnded(current)) return isStopped || isOver(member, current) ? "exited" : "restarting";
  return current.state === "running" || !hasPast ? current.state : "restarting";
}

/** Whether one that has ended will not be started again. */
const isOver = (member: StackMember | undefined, { exitCode }: ReleaseContainer): boolean =>
  member?.restarts === "never" || (member?.restarts === "on-failure" && exitCode === 0);

/** A container that has not started yet is the newest. */
export const byAge = (parts: readonly ReleasePart[]): readonly ReleasePart[] =>
  parts.toSorted((a, b) => startOf(a) - startOf(b));

const numberOf = ({ container }: ReleasePart): number => container.number ?? 0;

const startOf = ({ container }: ReleasePart): number => container.startedAt?.getTime() ?? Number.MAX_SAFE_INTEGER;

const hasEnded = ({ state }: ReleaseContainer): boolean => state === "exited" || state === "dead";

const upstreamOf = ({ address: host, port }: ReleaseContainer): ReleaseState["upstream"] =>
  host === null || port === null ? null : { host, port };
