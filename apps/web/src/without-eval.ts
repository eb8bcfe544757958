/**
 * Makes zod check values without compiling code for it, which the content security policy forbids: it would try, and
 * browsers report the attempt. It reads this object when it is loaded, which is after the first page.
 */
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });
