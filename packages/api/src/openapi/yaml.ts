// Imported when the description is first asked for as YAML. Named here, because a bundle has no named exports of a package
// that is imported lazily.
export { stringify } from "yaml";
