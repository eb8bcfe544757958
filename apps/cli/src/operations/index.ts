export { addOperations, firstLower } from "./commands.ts";
export { type Operation, operations } from "./description.ts";
