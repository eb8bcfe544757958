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

/** Converts foreign errors to DomainErrors at the edge; every call starts the event feed. */
export function withDomainErrors<T extends ContainerEngine>(engine: T, server: string, begin: () => void): T {
  const wrapped = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      begin();
      return await withDomainError(server, () => call(...args));
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
      begin();
      return engine.onStateChange(listener);
    },
    async *logs(ref, query) {
      begin();
      try {
        yield* engine.logs(ref, query);
      } catch (cause) {
        throw engineError(server, cause);
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
