import { isDomainError } from "@berth/core";
import type { ContainerOperations, Engine } from "@berth/core/ports";
import { engineError, statusCodeOf } from "@berth/docker-client";

type ContainerEngine = Engine & { readonly containers: ContainerOperations };

/** Repeats a call only after a broken connection: an answer of the engine, or an error of ours, is final. */
async function again<T>(cause: unknown, call: () => Promise<T>): Promise<T> {
  const isAnswer = isDomainError(cause) || statusCodeOf(cause) !== undefined;
  if (isAnswer || !(cause instanceof Error)) throw cause;
  return await call();
}

/**
 * Converts foreign errors to DomainErrors at the edge.
 * @param follow Follows the engine's events until the returned function is called: each call and each listener does.
 */
export function withDomainErrors<T extends ContainerEngine>(engine: T, server: string, follow: () => () => void): T {
  const wrapped = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      const unfollow = follow();
      try {
        return await withDomainError(server, () => call(...args));
      } finally {
        unfollow();
      }
    };
  };
  /** Repeats an idempotent call once, since an idle connection may have broken. */
  const repeated = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    wrapped((...args: Args) => call(...args).catch((cause: unknown) => again(cause, () => call(...args))));
  return {
    ...engine,
    containers: {
      ...engine.containers,
      scale: repeated(engine.containers.scale),
      command: wrapped(engine.containers.command),
      ownCheck: wrapped(engine.containers.ownCheck),
      ownersOf: repeated(engine.containers.ownersOf),
    },
    ...(engine.cluster === undefined
      ? {}
      : {
          cluster: {
            nodes: repeated(engine.cluster.nodes),
            changed: wrapped(engine.cluster.changed),
            requireLeader: repeated(engine.cluster.requireLeader),
            change: wrapped(engine.cluster.change),
            remove: repeated(engine.cluster.remove),
            invitation: repeated(engine.cluster.invitation),
            rotateTokens: wrapped(engine.cluster.rotateTokens),
          },
        }),
    build: wrapped(engine.build),
    start: repeated(engine.start),
    resume: repeated(engine.resume),
    requireName: repeated(engine.requireName),
    takeName: repeated(engine.takeName),
    stop: repeated(engine.stop),
    remove: repeated(engine.remove),
    inspect: repeated(engine.inspect),
    list: repeated(engine.list),
    exec: wrapped(engine.exec),
    listeningPorts: repeated(engine.listeningPorts),
    volumesOf: repeated(engine.volumesOf),
    removeVolumes: repeated(engine.removeVolumes),
    removeResource: repeated(engine.removeResource),
    usage: repeated(engine.usage),
    onStateChange(listener) {
      const unfollow = follow();
      const unsubscribe = engine.onStateChange(listener);
      return () => {
        unsubscribe();
        unfollow();
      };
    },
    async *logs(ref, query) {
      const unfollow = follow();
      try {
        yield* engine.logs(ref, query);
      } catch (cause) {
        throw engineError(server, cause);
      } finally {
        unfollow();
      }
    },
  };
}

/** @throws DomainError */
export async function withDomainError<T>(server: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    throw engineError(server, cause);
  }
}
