/** Program and arguments. No shell ever reads them. */
export type Argv = readonly [program: string, ...args: string[]];
