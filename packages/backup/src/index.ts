export { decompress, digest, verifyContent } from "./content.ts";
export { backupFiles } from "./files.ts";
export { objectStorage } from "./object-storage.ts";
