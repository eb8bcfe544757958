/**
 * An object whose properties are created at their first use: for objects of many parts, of which each caller uses one or
 * two.
 */
export function onDemand<Context, Parts extends object>(
  create: {
    readonly [Name in keyof Parts]: (context: Context) => Parts[Name];
  },
): (context: Context) => Parts {
  class OnDemand {
    readonly created: Partial<Parts> = {};
    readonly context: Context;
    constructor(context: Context) {
      this.context = context;
    }
  }
  // The names are those of `create`, so all of them are names of parts.
  for (const name of Object.keys(create) as (keyof Parts)[]) {
    Object.defineProperty(OnDemand.prototype, name, {
      get(this: OnDemand) {
        this.created[name] ??= create[name](this.context);
        return this.created[name];
      },
    });
  }
  // Its getters are all of the parts.
  return (context) => new OnDemand(context) as unknown as Parts;
}
