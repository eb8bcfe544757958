import { DomainError } from "../errors.ts";
import { boundedLength, interpolateCompose } from "./reference.ts";
import type { ComposeVariable } from "./variables.ts";

type Values = Readonly<Record<string, string>>;

/**
 * The values that a compose file is started with. A value that equals the file's default is expanded like the compose
 * tool does: `${A:-${B:-c}}` follows `B`, and `$$` becomes `$`. Any other value was set by a user and is used
 * unchanged.
 * @throws DomainError `deploy.start_failed` when the values exceed the limit
 */
export function readDefaults(variables: readonly Pick<ComposeVariable, "key" | "fallback">[], values: Values): Values {
  const fallbacks = new Map(
    variables.flatMap(({ key, fallback }) =>
      fallback?.includes("$") && Object.hasOwn(values, key) && values[key] === fallback
        ? [[key, fallback] as const]
        : [],
    ),
  );
  if (fallbacks.size === 0) return values;
  let steps = 0;
  const add = boundedLength();
  const valueFor = (key: string, above: ReadonlySet<string>): string | undefined => {
    const fallback = fallbacks.get(key);
    if (fallback === undefined) return Object.hasOwn(values, key) ? values[key] : undefined;
    // A cycle, or a chain of references that is too long.
    if (above.has(key) || above.size > CHAIN_MAX) return undefined;
    // References that name the next variable repeatedly multiply the work, so steps are limited.
    steps += 1;
    if (steps > STEPS_MAX) throw new DomainError("deploy.start_failed", TOO_MANY);
    const path = new Set([...above, key]);
    // Input counts as well as output: a long text can expand to nothing many times.
    return add(interpolateCompose(add(fallback), (name) => valueFor(name, path)));
  };
  const read = [...fallbacks.keys()].map((key) => [key, valueFor(key, new Set()) ?? ""] as const);
  return { ...values, ...Object.fromEntries(read) };
}

const CHAIN_MAX = 20;
const STEPS_MAX = 20_000; // A compose file has at most a thousand variables, each with a short chain of references.
const TOO_MANY = `The defaults of the compose file's variables refer to each other too often: they exceed ${STEPS_MAX} values. Use fewer references.`;
