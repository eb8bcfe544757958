import { DomainError } from "../errors.ts";
import { boundedLength, interpolateCompose } from "./reference.ts";
import type { ComposeVariable } from "./variables.ts";

type Values = Readonly<Record<string, string>>;

/**
 * The values with which a compose text is started. One that is still the default of the text is read as the compose tool
 * reads that: `${A:-${B:-c}}` follows `B`, and `$$` is one `$`. Any other is somebody's own, byte for byte.
 * @throws DomainError `deploy.start_failed` when they come to more than anybody writes
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
    // A circle, or a chain that nobody writes.
    if (above.has(key) || above.size > CHAIN_MAX) return undefined;
    // Each that names the next one many times makes many times as many of the one before.
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
const STEPS_MAX = 20_000; // A text has at most a thousand variables, each behind a chain of others.
const TOO_MANY = `The defaults of the compose file's variables refer to each other too often: they exceed ${STEPS_MAX} values. Use fewer references.`;
