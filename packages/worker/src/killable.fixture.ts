/** A process that tests can kill: afterwards none of its calls has an effect or an answer. */
export interface Life {
  readonly isOver: boolean;
  kill(): void;
  /** Suspends it: calls are delayed until it resumes. */
  freeze(): void;
  thaw(): void;
  readonly thawed: Promise<void>;
}

export function life(): Life {
  let isOver = false;
  let frozen: PromiseWithResolvers<void> | undefined;
  return {
    get isOver() {
      return isOver;
    },
    kill: () => {
      isOver = true;
    },
    freeze: () => {
      frozen ??= Promise.withResolvers();
    },
    thaw: () => {
      frozen?.resolve();
      frozen = undefined;
    },
    get thawed() {
      return frozen?.promise ?? Promise.resolve();
    },
  };
}

/** Called before and after each call. May kill the process in between. */
export interface CallWatch {
  before?(name: string): void;
  after?(name: string): void;
}

/** A proxy object whose calls fail to happen once the process is killed. */
export function killable<T extends object>(target: T, owner: Life, watch: CallWatch = {}, path = ""): T {
  return new Proxy(target, {
    get(object, key) {
      // Getters run on the object itself: what they keep there must not be wrapped.
      const value: unknown = Reflect.get(object, key);
      const name = path === "" ? String(key) : `${path}.${String(key)}`;
      if (typeof value === "function") {
        return (...args: unknown[]) => call(() => Reflect.apply(value, object, args), name, owner, watch);
      }
      return typeof value === "object" && value !== null && !(value instanceof Date) && !Array.isArray(value)
        ? killable(value, owner, watch, name)
        : value;
    },
  });
}

function call(work: () => unknown, name: string, owner: Life, watch: CallWatch): unknown {
  // It only makes an object, and its caller expects no promise.
  const isSync = name.endsWith("forTeam");
  if (owner.isOver && !isSync) return never();
  watch.before?.(name);
  if (owner.isOver && !isSync) return never();
  const result = work();
  if (isAsyncIterable(result)) return result;
  if (!(result instanceof Promise)) {
    return typeof result === "object" && result !== null && !Array.isArray(result)
      ? killable(result, owner, watch, name)
      : result;
  }
  return new Promise((resolve, reject) => {
    const answer = async (settle: () => void) => {
      if (!owner.isOver) watch.after?.(name);
      await owner.thawed;
      if (!owner.isOver) settle();
    };
    result.then(
      (value) => answer(() => resolve(value)),
      (error) => answer(() => reject(error)),
    );
  });
}

const never = () => new Promise<never>(() => undefined);

const isAsyncIterable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;
