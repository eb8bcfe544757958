/** The folder of an up-to-date build of a program of `programs.mjs`; builds it first where it has to. */
export function freshBuild(name: string): string;
