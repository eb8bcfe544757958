/** Program and arguments, to the last hop: no shell reads them. */
export type Argv = readonly [program: string, ...args: string[]];
