// Imported when the document is first requested as YAML. Named here, since a bundle has no named exports of a package
// that is imported lazily.
export { stringify } from "yaml";
